import { describe, expect, test } from 'vitest';

import { send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';
const RS = '/apis/apps/v1/namespaces/default/replicasets';

const t = serverPerTest();

const create = (name: string, metadata: object = {}) =>
  send(t.server, { method: 'POST', path: PATH, body: { metadata: { name, ...metadata } } });
const remove = (path: string, body?: object) => send(t.server, { method: 'DELETE', path, body });
const get = (path: string) => send(t.server, { path });

describe('delete', () => {
  test('returns a Status that names the deleted object', async () => {
    const { json: a } = await create('a');
    const { code, json } = await remove(`${PATH}/a`);
    expect(code).toBe(200);
    expect(json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'a', kind: 'configmaps', uid: a.metadata.uid },
    });
    expect((await get(`${PATH}/a`)).code).toBe(404);
    expect((await remove(`${PATH}/a`)).code).toBe(404);
  });

  test('waits for finalizers', async () => {
    await create('a', { finalizers: ['example.com/f'] });
    const { code, json } = await remove(`${PATH}/a`);
    expect(code).toBe(200);
    expect(json.metadata).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 0,
    });

    const more = await send(t.server, {
      method: 'PATCH',
      path: `${PATH}/a`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { finalizers: ['example.com/f', 'example.com/g'] } },
    });
    expect(more.code).toBe(422);
    expect(more.json.message).toContain(
      'no new finalizers can be added if the object is being deleted',
    );

    const last = await send(t.server, {
      method: 'PATCH',
      path: `${PATH}/a`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { finalizers: null } },
    });
    expect(last.code).toBe(200);
    expect((await get(`${PATH}/a`)).code).toBe(404);
  });

  test('checks preconditions', async () => {
    const { json: a } = await create('a');
    const wrong = await remove(`${PATH}/a`, { preconditions: { uid: 'other' } });
    expect(wrong.code).toBe(409);
    expect(wrong.json.message).toContain(
      `the UID in the precondition (other) does not match the UID in record (${a.metadata.uid})`,
    );
    expect((await remove(`${PATH}/a`, { preconditions: { resourceVersion: '1' } })).code).toBe(409);
    const { uid, resourceVersion } = a.metadata;
    expect(
      (
        await remove(`${PATH}/a`, {
          kind: 'DeleteOptions',
          apiVersion: 'v1',
          preconditions: { uid, resourceVersion },
        })
      ).code,
    ).toBe(200);
  });

  test('a dry run deletes nothing', async () => {
    await create('a');
    expect((await remove(`${PATH}/a?dryRun=All`)).code).toBe(200);
    expect((await remove(`${PATH}/a`, { dryRun: ['All'] })).code).toBe(200);
    expect((await get(`${PATH}/a`)).code).toBe(200);
  });

  test.each([
    [{ propagationPolicy: 'Sometimes' }, 'propagationPolicy: Unsupported value: "Sometimes"'],
    [
      { propagationPolicy: 'Orphan', orphanDependents: true },
      'orphanDependents and deletionPropagation cannot be both set',
    ],
  ])('rejects %j', async (options, message) => {
    await create('a');
    const { code, json } = await remove(`${PATH}/a`, options);
    expect(code).toBe(422);
    expect(json.message).toContain(message);
  });

  test.each<[body: object, message: string]>([
    [
      { kind: 'Pod', apiVersion: 'v1' },
      'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [{ kind: 1 }, 'json: cannot unmarshal number into Go struct field .kind of type string'],
    [[], 'json: cannot unmarshal array into Go value of type struct'],
    [{ gracePeriodSeconds: 'soon' }, 'gracePeriodSeconds'],
  ])('rejects %j, which is not DeleteOptions', async (body, message) => {
    await create('a');
    const { code, json } = await remove(`${PATH}/a`, body);
    expect(code).toBe(400);
    expect(json.message).toContain(message);
  });

  test('accepts DeleteOptions of any version', async () => {
    await create('a');
    const options = { kind: 'DeleteOptions', apiVersion: 'apps/v1' };
    expect((await remove(`${PATH}/a`, options)).code).toBe(200);
  });
});

describe('propagation policies', () => {
  const replicaSet = {
    metadata: { name: 'r' },
    spec: {
      selector: { matchLabels: { app: 'x' } },
      template: {
        metadata: { labels: { app: 'x' } },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      },
    },
  };

  test.each([
    ['Orphan', ['orphan']],
    ['Foreground', ['foregroundDeletion']],
  ])('%s leaves the rest to the garbage collector', async (propagationPolicy, finalizers) => {
    await send(t.server, { method: 'POST', path: RS, body: replicaSet });
    const { json } = await remove(`${RS}/r`, { propagationPolicy });
    expect(json.metadata.finalizers).toEqual(finalizers);
    expect(json.metadata.deletionTimestamp).toBeDefined();
    expect(json.metadata.generation).toBe(2);
    // A later deletion may choose another policy.
    const again = await remove(`${RS}/r`, { propagationPolicy: 'Background' });
    expect(again.json.status).toBe('Success');
    expect((await get(`${RS}/r`)).code).toBe(404);
  });

  test('Background deletes at once', async () => {
    await send(t.server, { method: 'POST', path: RS, body: replicaSet });
    expect((await remove(`${RS}/r`, { propagationPolicy: 'Background' })).json.status).toBe(
      'Success',
    );
  });

  test('orphanDependents still works', async () => {
    await send(t.server, { method: 'POST', path: RS, body: replicaSet });
    const { json } = await remove(`${RS}/r?orphanDependents=true`);
    expect(json.metadata.finalizers).toEqual(['orphan']);
  });
});

describe('graceful deletion of pods', () => {
  const pod = {
    metadata: { name: 'p' },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  };

  test('marks the pod, which stays until its kubelet confirms the end', async () => {
    await send(t.server, { method: 'POST', path: PODS, body: pod });
    const { code, json } = await remove(`${PODS}/p`);
    expect(code).toBe(200);
    expect(json.metadata).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:30Z',
      deletionGracePeriodSeconds: 30,
    });
    expect((await remove(`${PODS}/p`)).json.metadata).toEqual(json.metadata);
    // The grace period can only become shorter.
    const longer = await remove(`${PODS}/p`, { gracePeriodSeconds: 60 });
    expect(longer.json.metadata.deletionGracePeriodSeconds).toBe(30);
    const shorter = await remove(`${PODS}/p`, { gracePeriodSeconds: 5 });
    expect(shorter.json.metadata).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:05Z',
      deletionGracePeriodSeconds: 5,
    });
    const now = await remove(`${PODS}/p`, { gracePeriodSeconds: 0 });
    expect(now.code).toBe(200);
    expect((await get(`${PODS}/p`)).code).toBe(404);
  });

  test('deletes pods at once that do not run', async () => {
    const { nodeName: _nodeName, ...spec } = pod.spec;
    await send(t.server, { method: 'POST', path: PODS, body: { ...pod, spec } });
    await remove(`${PODS}/p`);
    expect((await get(`${PODS}/p`)).code).toBe(404);
  });

  test('waits for finalizers after the grace period', async () => {
    await send(t.server, {
      method: 'POST',
      path: PODS,
      body: { ...pod, metadata: { name: 'p', finalizers: ['example.com/f'] } },
    });
    await remove(`${PODS}/p`);
    const { json } = await remove(`${PODS}/p`, { gracePeriodSeconds: 0 });
    expect(json.metadata).toMatchObject({
      deletionGracePeriodSeconds: 0,
      finalizers: ['example.com/f'],
    });
    expect((await get(`${PODS}/p`)).code).toBe(200);
  });
});

describe('namespaces', () => {
  test('terminate, and wait for their content', async () => {
    await send(t.server, {
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { metadata: { name: 'x' } },
    });
    const { code, json } = await remove('/api/v1/namespaces/x');
    expect(code).toBe(200);
    expect(json).toMatchObject({
      status: { phase: 'Terminating' },
      spec: { finalizers: ['kubernetes'] },
    });
    const finalized = await send(t.server, {
      method: 'PUT',
      path: '/api/v1/namespaces/x/finalize',
      body: { ...json, spec: { finalizers: [] } },
    });
    expect(finalized.code).toBe(200);
    expect((await get('/api/v1/namespaces/x')).code).toBe(404);
  });

  test.each(['default', 'kube-system', 'kube-public'])('%s cannot be deleted', async (name) => {
    const { code, json } = await remove(`/api/v1/namespaces/${name}`);
    expect(code).toBe(403);
    expect(json.message).toBe(
      `namespaces "${name}" is forbidden: this namespace may not be deleted`,
    );
  });
});

describe('deletecollection', () => {
  test('deletes the selected objects', async () => {
    for (const name of ['a', 'b', 'c'])
      await create(name, { labels: { x: name === 'b' ? 'no' : 'yes' } });
    const { code, json } = await remove(`${PATH}?labelSelector=x%3Dyes`);
    expect(code).toBe(200);
    expect(json.kind).toBe('ConfigMapList');
    expect(json.items.map((item) => item.metadata.name)).toEqual(['a', 'c']);
    expect((await get(PATH)).json.items.map((item) => item.metadata.name)).toEqual(['b']);
  });

  test('marks objects with finalizers', async () => {
    await create('a', { finalizers: ['example.com/f'] });
    await remove(PATH);
    expect((await get(`${PATH}/a`)).json.metadata.deletionTimestamp).toBeDefined();
  });

  test('deletes the system’s priority classes, which cannot be deleted by their names', async () => {
    const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
    const { code, json } = await remove(`${classes}/system-node-critical`);
    expect([code, json.message]).toEqual([
      403,
      'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system ' +
        'priority class and cannot be deleted',
    ]);
    expect((await remove(classes)).code).toBe(200);
    expect((await get(classes)).json.items).toEqual([]);
  });

  test('is not served for some kinds', async () => {
    expect((await remove('/api/v1/namespaces')).code).toBe(405);
  });
});
