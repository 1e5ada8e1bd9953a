import { beforeEach, describe, expect, test } from 'vitest';

import { type Answer, send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

const t = serverPerTest();
let a: Answer;
beforeEach(async () => {
  a = (
    await send(t.server, {
      method: 'POST',
      path: PATH,
      body: { metadata: { name: 'a', labels: { l: '1' } }, data: { k: 'v' } },
    })
  ).json;
});

const put = (body: object, path = `${PATH}/a`) => send(t.server, { method: 'PUT', path, body });
const patch = (type: string, body: unknown, path = `${PATH}/a`) =>
  send(t.server, {
    method: 'PATCH',
    path,
    headers: { 'content-type': type },
    body: JSON.stringify(body),
  });
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';

test.each([
  [MERGE, { kind: 'X' }, 'no kind "X" is registered for version "v1" in scheme'],
  [MERGE, { apiVersion: 'v2' }, 'no kind "ConfigMap" is registered for version "v2" in scheme'],
  [MERGE, { kind: 'Secret' }, 'converting (v1.Secret) to (core.ConfigMap): unknown conversion'],
])('a patch (%s) must not change the kind: %j', async (type, change, message) => {
  const { code, json } = await patch(type, change);
  expect(code).toBe(422);
  expect(json.message).toContain(message);
});

describe('update', () => {
  test('replaces the object, and keeps the server’s fields', async () => {
    const { code, json } = await put({ metadata: { name: 'a' }, data: { k: 'w' } });
    expect(code).toBe(200);
    expect(json.data).toEqual({ k: 'w' });
    expect(json.metadata.labels).toBeUndefined();
    expect(json.metadata.uid).toBe(a.metadata.uid);
    expect(json.metadata.creationTimestamp).toBe(a.metadata.creationTimestamp);
    expect(json.metadata.resourceVersion).not.toBe(a.metadata.resourceVersion);
  });

  test('writes nothing when nothing changes', async () => {
    const { json } = await put(a);
    expect(json.metadata.resourceVersion).toBe(a.metadata.resourceVersion);
    const reordered = { data: a.data, metadata: { labels: { l: '1' }, name: 'a' } };
    expect((await put(reordered)).json.metadata.resourceVersion).toBe(a.metadata.resourceVersion);
  });

  test('rejects a resourceVersion that is no number', async () => {
    const { code, json } = await put({
      metadata: { name: 'a', resourceVersion: 'x' },
      data: { k: 'y' },
    });
    expect(code).toBe(400);
    expect(json.message).toBe('strconv.ParseUint: parsing "x": invalid syntax');
  });

  test('rejects a resourceVersion that is not the newest', async () => {
    await put({ metadata: { name: 'a' }, data: { k: 'w' } });
    const { code, json } = await put({ ...a, data: { k: 'x' } });
    expect(code).toBe(409);
    expect(json).toMatchObject({
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again',
      details: { name: 'a', kind: 'configmaps' },
    });
  });

  test('rejects another object of the same name', async () => {
    const { code, json } = await put({ metadata: { name: 'a', uid: 'other' } });
    expect(code).toBe(409);
    expect(json.message).toContain(
      `Precondition failed: UID in precondition: other, UID in object meta: ${a.metadata.uid}`,
    );
  });

  test('rejects another name or namespace than that of the path', async () => {
    expect((await put({ metadata: { name: 'b' } })).json.message).toBe(
      'the name of the object (b) does not match the name on the URL (a)',
    );
    expect((await put({ metadata: { name: 'a', namespace: 'x' } })).code).toBe(400);
    expect((await put({ metadata: { namespace: 'x' } })).json.message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
    expect((await put({ metadata: {} })).json.message).toBe(
      'the name of the object (a based on URL) was undeterminable: name must be provided',
    );
  });

  test('ignores another creation time', async () => {
    const { code, json } = await put({
      metadata: { name: 'a', creationTimestamp: '2001-01-01T00:00:00Z' },
    });
    expect(code).toBe(200);
    expect(json.metadata.creationTimestamp).not.toBe('2001-01-01T00:00:00Z');
  });

  test('of a missing object is 404, unless the kind creates on update', async () => {
    expect((await put({ metadata: { name: 'none' } }, `${PATH}/none`)).code).toBe(404);
    const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases/l';
    const { code, json } = await put({ metadata: { name: 'l' } }, lease);
    expect(code).toBe(201);
    expect(json.metadata.uid).toBeDefined();
  });

  test('a dry run returns the result and writes nothing', async () => {
    const { json } = await put(
      { metadata: { name: 'a' }, data: { k: 'w' } },
      `${PATH}/a?dryRun=All`,
    );
    expect(json.data).toEqual({ k: 'w' });
    expect((await send(t.server, { path: `${PATH}/a` })).json).toEqual(a);
  });

  test('the kind’s rules apply', async () => {
    await put({ ...a, immutable: true });
    const { code, json } = await put({
      metadata: { name: 'a' },
      data: { k: 'w' },
      immutable: true,
    });
    expect(code).toBe(422);
    expect(json.message).toContain('data: Forbidden: field is immutable when `immutable` is set');
  });
});

describe('generation', () => {
  const rs = '/apis/apps/v1/namespaces/default/replicasets';
  const replicaSet = (replicas: number) => ({
    metadata: { name: 'r' },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'x' } },
      template: {
        metadata: { labels: { app: 'x' } },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      },
    },
  });

  test('counts changes of the spec, not of labels or status', async () => {
    const { json } = await send(t.server, { method: 'POST', path: rs, body: replicaSet(1) });
    expect(json.metadata.generation).toBe(1);
    expect((await put(replicaSet(2), `${rs}/r`)).json.metadata.generation).toBe(2);
    expect(
      (await patch(MERGE, { metadata: { labels: { q: 'r' } } }, `${rs}/r`)).json.metadata
        .generation,
    ).toBe(2);
    const status = await patch(
      MERGE,
      { status: { replicas: 1 }, spec: { replicas: 9 } },
      `${rs}/r/status`,
    );
    expect(status.json).toMatchObject({
      metadata: { generation: 2 },
      spec: { replicas: 2 },
      status: { replicas: 1 },
    });
    const spec = await patch(MERGE, { status: { replicas: 7 }, spec: { replicas: 3 } }, `${rs}/r`);
    expect(spec.json).toMatchObject({
      metadata: { generation: 3 },
      spec: { replicas: 3 },
      status: { replicas: 1 },
    });
  });
});

describe('patch', () => {
  test('merges', async () => {
    const { code, json } = await patch(MERGE, { data: { k: null, n: '1' } });
    expect(code).toBe(200);
    expect(json.data).toEqual({ n: '1' });
  });

  test('applies all operations or none', async () => {
    const done = await patch(JSON_PATCH, [
      { op: 'test', path: '/data/k', value: 'v' },
      { op: 'replace', path: '/data/k', value: 'w' },
    ]);
    expect(done.json.data).toEqual({ k: 'w' });
    const failed = await patch(JSON_PATCH, [
      { op: 'replace', path: '/data/k', value: 'x' },
      { op: 'test', path: '/data/k', value: 'nope' },
    ]);
    expect(failed.code).toBe(422);
    expect(failed.json.reason).toBe('Invalid');
    expect((await send(t.server, { path: `${PATH}/a` })).json.data).toEqual({ k: 'w' });
  });

  test('reports problems of operations in their order', async () => {
    const { code, warnings } = await send(t.server, {
      method: 'PATCH',
      path: `${PATH}/a`,
      headers: { 'content-type': JSON_PATCH },
      body:
        '[{"op":"add","path":"/data/a","value":"1","foo":1},' +
        '{"op":"add","path":"/x","path":"/data/b","value":"2"}]',
    });
    expect([code, warnings]).toEqual([
      200,
      ['json patch unknown field "[0].foo"', 'json patch duplicate field "[1].path"'],
    ]);
  });

  test('rejects invalid and too large patches', async () => {
    expect((await patch(JSON_PATCH, { op: 'add' })).code).toBe(400);
    expect((await patch(MERGE, 'text')).code).toBe(400);
    const many = Array.from({ length: 10_001 }, () => ({
      op: 'test',
      path: '/data/k',
      value: 'v',
    }));
    expect((await patch(JSON_PATCH, many)).code).toBe(413);
    const broken = await send(t.server, {
      method: 'PATCH',
      path: `${PATH}/a`,
      headers: { 'content-type': MERGE },
      body: '{',
    });
    expect(broken.code).toBe(400);
  });

  test('merges lists by their keys', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const containers = [{ name: 'c', image: 'i:1' }];
    await send(t.server, {
      method: 'POST',
      path: pods,
      body: { metadata: { name: 'p' }, spec: { containers } },
    });
    const { code, json } = await patch(
      STRATEGIC,
      { spec: { containers: [{ name: 'c', image: 'i:2' }] } },
      `${pods}/p`,
    );
    expect(code).toBe(200);
    expect(json.spec?.['containers']).toMatchObject([
      { name: 'c', image: 'i:2', imagePullPolicy: expect.any(String) },
    ]);
  });

  test('treats __proto__ like any other key', async () => {
    const body = '{"data":{"__proto__":"x","constructor":"y"}}';
    const { code, text } = await send(t.server, {
      method: 'PATCH',
      path: `${PATH}/a`,
      headers: { 'content-type': MERGE },
      body,
    });
    // The key is not a valid label. Only the absence of other effects is tested.
    expect([200, 422]).toContain(code);
    expect(text).toContain('__proto__');
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  test('checks the resourceVersion that it contains', async () => {
    const stale = await patch(MERGE, { metadata: { resourceVersion: '1' }, data: { k: 'w' } });
    expect(stale.code).toBe(409);
    const patched = await patch(MERGE, {
      metadata: { resourceVersion: a.metadata.resourceVersion },
      data: { k: 'w' },
    });
    expect(patched.code).toBe(200);
  });

  test('is applied to the newest state after conflicts', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) => patch(MERGE, { data: { [`k${i}`]: 'v' } })),
    );
    expect(all.map(({ code }) => code)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(Object.keys((await send(t.server, { path: `${PATH}/a` })).json.data ?? {})).toHaveLength(
      21,
    );
  });

  test('rejects a new name', async () => {
    expect((await patch(MERGE, { metadata: { name: 'b' } })).code).toBe(400);
  });

  test('of a missing object is 404', async () => {
    expect((await patch(MERGE, { data: {} }, `${PATH}/none`)).code).toBe(404);
  });

  test('rejects other types', async () => {
    const other = await patch('application/json', {});
    expect(other.code).toBe(415);
    expect(other.json.message).toBe('415: Unsupported Media Type');
  });
});

describe('a strategic merge patch with values of wrong types', () => {
  const POD = '/api/v1/namespaces/default/pods/p';

  test.each([
    [{ metadata: { labels: 'x' } }, 'cannot restore map from string'],
    [{ metadata: { labels: ['x'] } }, 'cannot restore map from slice'],
    [{ metadata: { labels: { a: 1 } } }, 'cannot convert int64 to string'],
    [{ metadata: { labels: { a: 1.5 } } }, 'unrecognized type: string'],
    [{ spec: { nodeName: 5 } }, 'cannot convert int64 to string'],
    [{ spec: { nodeName: true } }, 'unrecognized type: string'],
    [{ spec: { restartPolicy: 5 } }, 'cannot convert int64 to v1.RestartPolicy'],
    [{ spec: { containers: 'x' } }, 'cannot restore slice from string'],
    [{ spec: { securityContext: 'x' } }, 'cannot restore struct from: string'],
    [{ spec: { priority: 'x' } }, 'unrecognized type: int32'],
    [{ spec: { hostNetwork: 'x' } }, 'unrecognized type: bool'],
    [{ spec: { hostNetwork: 1 } }, 'unrecognized type: bool'],
    [{ spec: { activeDeadlineSeconds: 1.5 } }, 'cannot convert float64 to int64'],
    [
      { metadata: { creationTimestamp: 5 } },
      'json: cannot unmarshal number into Go value of type string',
    ],
  ])('%j: %s', async (body, why) => {
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await send(t.server, {
      method: 'POST',
      path: '/api/v1/namespaces/default/pods',
      body: { metadata: { name: 'p' }, spec },
    });
    const { code, json } = await patch(STRATEGIC, body, POD);
    expect(code).toBe(422);
    expect(json.reason).toBe('Invalid');
    expect(json.message).toMatch(/^ "" is invalid: patch: Invalid value: "map\[/);
    expect(json.message?.endsWith(`: ${why}`), json.message).toBe(true);
  });

  test('a merge patch is decoded', async () => {
    const { code, json } = await patch(MERGE, { metadata: { labels: 'x' } });
    expect(code).toBe(422);
    expect(json.message).toContain(
      'cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string',
    );
  });
});
