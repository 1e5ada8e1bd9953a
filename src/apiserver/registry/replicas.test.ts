// Replica sets, replication controllers, and their scale.

import { beforeEach, describe, expect, test } from 'vitest';

import { Api, outcome } from '../testing/api.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const t = serverPerTest();
const api = new Api(t);

const NAMESPACE = 'namespaces/default';
const KINDS = [
  {
    kind: 'ReplicaSet',
    apiVersion: 'apps/v1',
    path: `/apis/apps/v1/${NAMESPACE}/replicasets`,
    resource: 'replicasets.apps',
    qualifiedKind: 'ReplicaSet.apps',
    selector: { matchLabels: { app: 'web' } },
  },
  {
    kind: 'ReplicationController',
    apiVersion: 'v1',
    path: `/api/v1/${NAMESPACE}/replicationcontrollers`,
    resource: 'replicationcontrollers',
    qualifiedKind: 'ReplicationController',
    selector: { app: 'web' },
  },
] as const;

describe.each(KINDS)('$kind', ({ kind, qualifiedKind, apiVersion, path, resource, selector }) => {
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'x' }] },
  };
  const manifest = (name = 'a', spec: object = {}) => ({
    apiVersion,
    kind,
    metadata: { name },
    spec: { replicas: 2, selector, template, ...spec },
    status: { replicas: 7 },
  });
  const read = async () => (await api.get(`${path}/a`)).json;

  test('is created with an empty status', async () => {
    const { json } = await api.post(path, manifest());
    expect(json.status).toEqual({ replicas: 0 });
    expect(json.metadata.generation).toBe(1);
  });

  test('counts changes of its spec', async () => {
    await api.post(path, manifest());
    await api.patch(`${path}/a`, { metadata: { labels: { x: 'z' } } });
    expect((await read()).metadata.generation).toBe(1);
    const { json } = await api.patch(`${path}/a`, {
      spec: { replicas: 3 },
      status: { replicas: 7 },
    });
    expect(json).toMatchObject({
      metadata: { generation: 2 },
      spec: { replicas: 3 },
      status: { replicas: 0 },
    });
  });

  test('has a separate status', async () => {
    await api.post(path, manifest());
    const status = { replicas: 2, readyReplicas: 1, observedGeneration: 1 };
    const { json } = await api.patch(`${path}/a/status`, { spec: { replicas: 9 }, status });
    expect(json).toMatchObject({ metadata: { generation: 1 }, spec: { replicas: 2 } });
    expect(json.status).toEqual(status);
    expect(outcome(await api.patch(`${path}/a/status`, { status: { readyReplicas: 3 } }))).toBe(
      `422 Invalid: ${qualifiedKind} "a" is invalid: status.readyReplicas: Invalid value: 3: ` +
        'cannot be greater than status.replicas',
    );
  });

  test('causes warnings about its name, and about a changed template', async () => {
    const spec = { ...template.spec, nodeSelector: { 'beta.kubernetes.io/os': 'linux' } };
    const name =
      'metadata.name: this is used in Pod names and hostnames, which can result in surprising ' +
      'behavior; a DNS label is recommended: [must not contain dots]';
    const label =
      'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead';
    const created = await api.post(path, manifest('a.b', { template: { ...template, spec } }));
    expect(created.warnings).toEqual([name, label]);
    expect((await api.patch(`${path}/a.b`, { metadata: { labels: { x: 'z' } } })).warnings).toEqual(
      [],
    );
    expect((await api.patch(`${path}/a.b`, { spec: { replicas: 1 } })).warnings).toEqual([label]);
  });

  test('is selected by its replicas only if it is a replication controller', async () => {
    await api.post(path, manifest());
    await api.patch(`${path}/a/status`, { status: { replicas: 2 } });
    const selected = async (value: number) =>
      await api.get(`${path}?fieldSelector=status.replicas=${value}`);
    if (kind === 'ReplicaSet') {
      expect(outcome(await selected(2))).toContain(
        '"status.replicas" is not a known field selector',
      );
      return;
    }
    expect((await selected(2)).json.items.map(({ metadata }) => metadata.name)).toEqual(['a']);
    expect((await selected(1)).json.items).toEqual([]);
  });

  test('is deleted, and the response is a Status', async () => {
    await api.post(path, manifest());
    const { json } = await api.delete(`${path}/a?propagationPolicy=Background`);
    expect(json).toMatchObject({ kind: 'Status', status: 'Success', details: { name: 'a' } });
  });

  describe('scale', () => {
    beforeEach(async () => {
      await api.post(path, manifest());
      await api.patch(`${path}/a/status`, { status: { replicas: 1 } });
    });
    const scale = async () => (await api.get(`${path}/a/scale`)).json;

    test('shows the number', async () => {
      const { metadata } = await read();
      const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
      expect(await scale()).toEqual({
        kind: 'Scale',
        apiVersion: 'autoscaling/v1',
        metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
        spec: { replicas: 2 },
        status: { replicas: 1, selector: 'app=web' },
      });
    });

    test('changes the number', async () => {
      const { json, code } = await api.put(`${path}/a/scale`, {
        ...(await scale()),
        spec: { replicas: 5 },
      });
      expect(code).toBe(200);
      expect(json).toMatchObject({ kind: 'Scale', spec: { replicas: 5 } });
      expect(await read()).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 5 } });
    });

    test('zero is left out', async () => {
      const { json } = await api.patch(`${path}/a/scale`, { spec: { replicas: 0 } });
      expect(json.spec).toEqual({});
      expect((await read()).spec).toMatchObject({ replicas: 0 });
    });

    test('is not changed by a dry run', async () => {
      expect(
        (await api.put(`${path}/a/scale?dryRun=All`, { ...(await scale()), spec: { replicas: 5 } }))
          .json.spec,
      ).toEqual({
        replicas: 5,
      });
      expect((await read()).spec).toMatchObject({ replicas: 2 });
    });

    test.each<[what: string, change: object, expected: RegExp]>([
      [
        'fewer than none',
        { spec: { replicas: -1 } },
        new RegExp(
          '^422 Invalid: Scale.autoscaling "a" is invalid: spec.replicas: Invalid value: -1: ' +
            'must be greater than or equal to 0$',
        ),
      ],
      [
        'an older version',
        { metadata: { name: 'a', resourceVersion: '1' } },
        new RegExp(
          `^409 Conflict: Operation cannot be fulfilled on ${resource.replace('.', '\\.')} ` +
            '"a": the object has been modified; please apply your changes to the latest version ' +
            'and try again$',
        ),
      ],
      [
        'another object',
        { metadata: { name: 'a', uid: 'u' } },
        new RegExp(
          `^409 Conflict: Operation cannot be fulfilled on ${resource.replace('.', '\\.')} ` +
            '"a": Precondition failed: UID in precondition: u, UID in object meta: [-0-9a-f]{36}$',
        ),
      ],
      [
        'another name',
        { metadata: { name: 'b' } },
        /^400 BadRequest: the name of the object \(b\) does not match the name on the URL \(a\)$/,
      ],
    ])('is not for %s', async (_, change, expected) => {
      expect(outcome(await api.put(`${path}/a/scale`, { ...(await scale()), ...change }))).toMatch(
        expected,
      );
      expect((await read()).spec).toMatchObject({ replicas: 2 });
    });

    test('of another object cannot be patched', async () => {
      const scaleResource = resource.replace(/^[a-z]*/, '$&/scale');
      expect(
        outcome(
          await api.patch(`${path}/a/scale`, { metadata: { uid: 'u' }, spec: { replicas: 5 } }),
        ),
      ).toContain(
        `409 Conflict: Operation cannot be fulfilled on ${scaleResource} "a": Precondition ` +
          'failed: UID in precondition: u',
      );
    });

    test('of a missing object', async () => {
      expect(outcome(await api.get(`${path}/b/scale`))).toBe(
        `404 NotFound: ${resource} "b" not found`,
      );
    });
  });
});

test('deleting a replication controller keeps its pods by default', async () => {
  const { path } = KINDS[1];
  const controller = {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'a' },
    spec: {
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'c', image: 'x' }] },
      },
    },
  };
  await api.post(path, controller);
  const { json } = await api.delete(`${path}/a`);
  expect(json.metadata).toMatchObject({ finalizers: ['orphan'], generation: 2 });
  expect(json.spec).toMatchObject({ selector: { app: 'web' }, replicas: 1 });
});
