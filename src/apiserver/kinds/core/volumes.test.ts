// Persistent volumes and their claims through the API.

import { describe, expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { send } from '#apiserver/testing/requests.ts';

const t = serverPerTest();
const api = new Api(t);

const VOLUMES = '/api/v1/persistentvolumes';
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const volume = (spec = 'hostPath: {path: /data}'): string => `
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  ${spec}
`;
const claim = (more = ''): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  ${more}
`;
const rows = async (path: string): Promise<unknown> => {
  const headers = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
  const { json } = await send(t.server, { method: 'GET', path, headers });
  return (json as unknown as { rows: { cells: unknown[] }[] }).rows.map(({ cells }) => cells);
};

describe('persistent volumes', () => {
  test('get defaults', async () => {
    const { code, json } = await api.post(VOLUMES, volume());
    expect(code).toBe(201);
    expect(json).toMatchObject({
      spec: {
        persistentVolumeReclaimPolicy: 'Retain',
        volumeMode: 'Filesystem',
        hostPath: { path: '/data', type: '' },
      },
      status: { phase: 'Pending' },
    });
    const { lastPhaseTransitionTime } = json.status as { lastPhaseTransitionTime: string };
    expect(lastPhaseTransitionTime).toBe(json.metadata.creationTimestamp);
  });

  test('keep their source', async () => {
    await api.post(VOLUMES, volume());
    expect(
      outcome(await api.patch(`${VOLUMES}/v`, { spec: { hostPath: { path: '/other' } } })),
    ).toBe(
      '422 Invalid: PersistentVolume "v" is invalid: spec.persistentvolumesource: Forbidden: ' +
        'spec.persistentvolumesource is immutable after creation',
    );
    expect((await api.patch(`${VOLUMES}/v`, { spec: { capacity: { storage: '2Gi' } } })).code).toBe(
      200,
    );
  });

  test('get their phase and its time through their status', async () => {
    const { json: before } = await api.post(VOLUMES, volume());
    const answer = await api.patch(`${VOLUMES}/v`, { status: { phase: 'Bound' } });
    expect(answer.json.status).toEqual(before.status);
    await t.clock.advance(2000);
    const { json } = await api.patch(`${VOLUMES}/v/status`, {
      status: { phase: 'Available' },
      spec: { storageClassName: 'x' },
    });
    expect(json).toMatchObject({ status: { phase: 'Available' } });
    const timeOf = (status: unknown): number =>
      Date.parse((status as { lastPhaseTransitionTime: string }).lastPhaseTransitionTime);
    expect(timeOf(json.status) - timeOf(before.status)).toBe(2000);
    const { json: same } = await api.patch(`${VOLUMES}/v/status`, {
      status: { lastPhaseTransitionTime: null, message: 'm' },
    });
    expect(timeOf(same.status)).toBe(timeOf(json.status));
    expect(json.spec).not.toHaveProperty('storageClassName');
  });

  test('show their claims in a table', async () => {
    const spec =
      'hostPath: {path: /data}\n  storageClassName: fast\n  claimRef: {namespace: ns, name: c}';
    expect(outcome(await api.post(VOLUMES, volume(spec)))).toBe('201');
    const none = '<unset>';
    expect(await rows(VOLUMES)).toEqual([
      ['v', '1Gi', 'RWO', 'Retain', 'Pending', 'ns/c', 'fast', none, '', '0s', 'Filesystem'],
    ]);
  });

  test('warn about deprecated fields', async () => {
    const { headers } = await api.post(VOLUMES, volume('rbd: {monitors: [m], image: i}'));
    expect(String(headers['warning'])).toContain(
      'spec.rbd: deprecated in v1.28, non-functional in v1.31+',
    );
  });

  test('are returned when they are deleted', async () => {
    await api.post(VOLUMES, volume());
    expect((await api.delete(`${VOLUMES}/v`)).json).toMatchObject({
      kind: 'PersistentVolume',
      metadata: { name: 'v' },
    });
  });
});

describe('claims', () => {
  test('are pending without a volume', async () => {
    const { json } = await api.post(CLAIMS, `${claim()}status: {phase: Bound}`);
    expect(json).toMatchObject({
      spec: { volumeMode: 'Filesystem' },
      status: { phase: 'Pending' },
    });
    expect(await rows(CLAIMS)).toEqual([
      ['c', 'Pending', '', '', '', '', '<unset>', '0s', 'Filesystem'],
    ]);
  });

  test('have their source in both fields', async () => {
    const source = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
    const { json } = await api.post(CLAIMS, claim(`dataSource: ${JSON.stringify(source)}`));
    expect(json.spec).toMatchObject({ dataSource: source, dataSourceRef: source });
  });

  test('may be updated with the source only in the older field', async () => {
    const source = 'dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}';
    await api.post(CLAIMS, claim(source));
    const { code, json } = await api.put(`${CLAIMS}/c`, claim(source));
    expect([code, json.spec]).toMatchObject([200, { dataSourceRef: { name: 's' } }]);
  });

  test('drop a source that the older field does not support', async () => {
    const { json } = await api.post(
      CLAIMS,
      claim('dataSource: {apiGroup: example.com, kind: Other, name: s}'),
    );
    expect(json.spec).not.toHaveProperty('dataSource');
    expect(json.spec).not.toHaveProperty('dataSourceRef');
  });

  test('are bound once, and expand only then', async () => {
    const fast =
      '{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, ' +
      'provisioner: p, allowVolumeExpansion: true}';
    await api.post('/apis/storage.k8s.io/v1/storageclasses', fast);
    await api.post(CLAIMS, claim('storageClassName: fast'));
    const immutable =
      '422 Invalid: PersistentVolumeClaim "c" is invalid: spec: Forbidden: spec is immutable ' +
      'after creation except resources.requests and volumeAttributesClassName for bound claims';
    const grow = { spec: { resources: { requests: { storage: '2Gi' } } } };
    expect(outcome(await api.patch(`${CLAIMS}/c`, grow))).toBe(immutable);
    expect((await api.patch(`${CLAIMS}/c`, { spec: { volumeName: 'v' } })).code).toBe(200);
    expect(outcome(await api.patch(`${CLAIMS}/c`, { spec: { volumeName: 'w' } }))).toBe(immutable);
    const bound = {
      status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
    };
    expect((await api.patch(`${CLAIMS}/c/status`, bound)).code).toBe(200);
    expect((await api.patch(`${CLAIMS}/c`, grow)).code).toBe(200);
    expect(await rows(CLAIMS)).toEqual([
      ['c', 'Bound', 'v', '1Gi', 'RWO', 'fast', '<unset>', '0s', 'Filesystem'],
    ]);
    const shrink = { spec: { resources: { requests: { storage: '1Gi' } } } };
    expect(outcome(await api.patch(`${CLAIMS}/c`, shrink))).toBe(
      '422 Invalid: PersistentVolumeClaim "c" is invalid: spec.resources.requests.storage: ' +
        'Forbidden: field can not be less than status.capacity',
    );
  });

  test('get a class if they have none', async () => {
    await api.post(CLAIMS, claim());
    expect((await api.patch(`${CLAIMS}/c`, { spec: { storageClassName: 'fast' } })).code).toBe(200);
    expect((await api.patch(`${CLAIMS}/c`, { spec: { storageClassName: 'slow' } })).code).toBe(422);
  });
});
