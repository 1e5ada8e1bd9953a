// The kinds of the storage group through the API.

import { describe, expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { send } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const t = serverPerTest();
const api = new Api(t);

const GROUP = '/apis/storage.k8s.io/v1';
const manifest = (kind: string, more: string, metadata = '{name: a}'): string =>
  `apiVersion: storage.k8s.io/v1\nkind: ${kind}\nmetadata: ${metadata}\n${more}`;
const rows = async (path: string): Promise<unknown> => {
  const headers = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
  const { json } = await send(t.server, { method: 'GET', path, headers });
  return (json as unknown as { rows: { cells: unknown[] }[] }).rows.map(({ cells }) => cells);
};
/** Returns the problem in an Invalid error. */
const wrong = (text: string): string => text.replace(/^422 Invalid: .*? is invalid: /, '');

describe('storage classes', () => {
  const CLASSES = `${GROUP}/storageclasses`;

  test('get defaults, and have a table', async () => {
    const metadata =
      '{name: a, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}';
    const { json } = await api.post(
      CLASSES,
      manifest('StorageClass', 'provisioner: example.com/disk', metadata),
    );
    expect(json).toMatchObject({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });
    expect(await rows(CLASSES)).toEqual([
      ['a (default)', 'example.com/disk', 'Delete', 'Immediate', false, '0s'],
    ]);
  });

  test.each([
    [{ provisioner: 'other' }, 'provisioner: Invalid value: "other": field is immutable'],
    [{ parameters: { a: 'b' } }, 'parameters: Invalid value: {"a":"b"}: field is immutable'],
    [{ reclaimPolicy: 'Retain' }, 'reclaimPolicy: Invalid value: "Retain": field is immutable'],
    [
      { volumeBindingMode: 'WaitForFirstConsumer' },
      'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
    ],
    [{ allowVolumeExpansion: true }, '200'],
  ])('%j', async (change, expected) => {
    await api.post(CLASSES, manifest('StorageClass', 'provisioner: example.com/disk'));
    expect(wrong(outcome(await api.patch(`${CLASSES}/a`, change)))).toBe(expected);
  });

  test('warn about old labels', async () => {
    const key = 'failure-domain.beta.kubernetes.io/zone';
    const topologies = `allowedTopologies: [{matchLabelExpressions: [{key: ${key}, values: [a]}]}]`;
    const { headers } = await api.post(
      CLASSES,
      manifest('StorageClass', `provisioner: p\n${topologies}`),
    );
    expect(String(headers['warning'])).toContain(
      'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17',
    );
  });
});

describe('volume attachments', () => {
  const ATTACHMENTS = `${GROUP}/volumeattachments`;
  const attachment = manifest(
    'VolumeAttachment',
    'spec: {attacher: csi.example.com, nodeName: node, source: {persistentVolumeName: v}}\nstatus: {attached: true}',
  );

  test('begin detached; their status shows the attachment', async () => {
    expect((await api.post(ATTACHMENTS, attachment)).json).toMatchObject({
      status: { attached: false },
    });
    const change = {
      metadata: { labels: { a: 'b' } },
      spec: { nodeName: 'other' },
      status: { attached: true },
    };
    const { json } = await api.patch(`${ATTACHMENTS}/a/status`, change);
    expect(json).toMatchObject({ spec: { nodeName: 'node' }, status: { attached: true } });
    expect(json.metadata.labels).toBeUndefined();
    expect(await rows(ATTACHMENTS)).toEqual([['a', 'csi.example.com', 'v', 'node', true, '0s']]);
  });

  test('have an immutable node', async () => {
    await api.post(ATTACHMENTS, attachment);
    const answer = wrong(
      outcome(await api.patch(`${ATTACHMENTS}/a`, { spec: { nodeName: 'other' } })),
    );
    expect(answer).toMatch(/^spec: Invalid value: .*"nodeName":"other".*: field is immutable$/);
  });

  test('require a resourceVersion for updates', async () => {
    const { json } = await api.post(ATTACHMENTS, attachment);
    const { resourceVersion: _, ...metadata } = json.metadata;
    expect(outcome(await api.put(`${ATTACHMENTS}/a`, { ...json, metadata }))).toMatch(
      /metadata.resourceVersion: Invalid value: 0: must be specified for an update$/,
    );
  });
});

describe('drivers', () => {
  const DRIVERS = `${GROUP}/csidrivers`;

  test('get defaults, and have a table', async () => {
    const spec =
      'spec: {tokenRequests: [{audience: x}, {audience: z}], preventPodSchedulingIfMissing: true}';
    const { json, warnings } = await api.post(DRIVERS, manifest('CSIDriver', spec));
    expect(warnings.join()).toContain(
      'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver',
    );
    expect(
      (await api.patch(`${DRIVERS}/a`, { metadata: { labels: { a: 'b' } } })).warnings,
    ).toEqual([]);
    expect(json.metadata.generation).toBeUndefined();
    expect(json.spec).toEqual({
      attachRequired: true,
      podInfoOnMount: false,
      volumeLifecycleModes: ['Persistent'],
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      tokenRequests: [{ audience: 'x' }, { audience: 'z' }],
      requiresRepublish: false,
      seLinuxMount: false,
    });
    expect(await rows(DRIVERS)).toEqual([
      ['a', true, false, false, 'x,z', false, 'Persistent', '0s'],
    ]);
  });

  test('count changes', async () => {
    await api.post(DRIVERS, manifest('CSIDriver', 'spec: {}'));
    const { json } = await api.patch(`${DRIVERS}/a`, { spec: { podInfoOnMount: true } });
    expect(json.metadata.generation).toBe(1);
    expect(
      wrong(outcome(await api.patch(`${DRIVERS}/a`, { spec: { attachRequired: false } }))),
    ).toBe('spec.attachedRequired: Invalid value: false: field is immutable');
  });
});

describe('CSI nodes', () => {
  const NODES = `${GROUP}/csinodes`;

  test('may change the number of volumes, and nothing else', async () => {
    await api.post(
      NODES,
      manifest('CSINode', 'spec: {drivers: [{name: d, nodeID: n1, topologyKeys: [zone]}]}'),
    );
    const driver = { name: 'd', nodeID: 'n1', topologyKeys: ['zone'] };
    expect(
      (
        await api.patch(`${NODES}/a`, {
          spec: { drivers: [{ ...driver, allocatable: { count: 3 } }] },
        })
      ).code,
    ).toBe(200);
    const moved = await api.patch(`${NODES}/a`, {
      spec: { drivers: [{ ...driver, nodeID: 'n2' }] },
    });
    expect(wrong(outcome(moved))).toMatch(/^spec\.drivers: Invalid value: .*: field is immutable$/);
    expect(await rows(NODES)).toEqual([['a', 1, '0s']]);
  });
});

describe('capacities', () => {
  const CAPACITIES = `${GROUP}/namespaces/default/csistoragecapacities`;

  test('have an immutable class and topology', async () => {
    await api.post(
      CAPACITIES,
      manifest('CSIStorageCapacity', 'storageClassName: fast\ncapacity: 10Gi'),
    );
    expect((await api.patch(`${CAPACITIES}/a`, { capacity: '5Gi' })).code).toBe(200);
    expect(wrong(outcome(await api.patch(`${CAPACITIES}/a`, { storageClassName: 'slow' })))).toBe(
      'storageClassName: Invalid value: "slow": field is immutable',
    );
    expect(await rows(CAPACITIES)).toEqual([['a', '2026-01-01T00:00:00Z']]);
    expect((await api.delete(`${CAPACITIES}/a`)).json).toMatchObject({ kind: 'Status' });
  });
});

describe('volume attributes classes', () => {
  const CLASSES = `${GROUP}/volumeattributesclasses`;

  test('are immutable', async () => {
    await api.post(
      CLASSES,
      manifest('VolumeAttributesClass', 'driverName: d\nparameters: {iops: "1"}'),
    );
    expect(wrong(outcome(await api.patch(`${CLASSES}/a`, { parameters: { iops: '2' } })))).toBe(
      'parameters: Forbidden: updates to parameters are forbidden.',
    );
    expect(await rows(CLASSES)).toEqual([['a', 'd', '0s']]);
    expect((await api.delete(`${CLASSES}/a`)).json).toMatchObject({
      kind: 'VolumeAttributesClass',
    });
  });
});
