import { beforeEach, describe, expect, test } from 'vitest';

import { type Answer, send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

const t = serverPerTest();

const create = async (
  name: string,
  metadata: object = {},
  namespace = 'default',
): Promise<Answer> =>
  (
    await send(t.server, {
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/configmaps`,
      body: { metadata: { name, ...metadata } },
    })
  ).json;
const list = async (query = '', path = PATH) =>
  send(t.server, { path: query === '' ? path : `${path}?${query}` });
const names = (answer: Answer): string[] => answer.items.map((item) => item.metadata.name);
interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}
const meta = (answer: Answer): ListMeta => answer.metadata;
/** Writes an unrelated object, so that the store's revision grows. */
const unrelated = () => create(`other-${Math.floor(t.clock.monotonic())}`, {}, 'kube-public');

describe('list', () => {
  test('returns the items of a namespace, or of all', async () => {
    await create('b');
    await create('a');
    await create('c', {}, 'kube-system');
    const { code, json } = await list();
    expect(code).toBe(200);
    expect(json).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' });
    expect(names(json)).toEqual(['a', 'b']);
    expect(names((await list('', '/api/v1/configmaps')).json)).toEqual(['a', 'b', 'c']);
  });

  test('items have no kind, but a resourceVersion', async () => {
    const a = await create('a', { labels: { l: 'x' } });
    const { json } = await list();
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = a;
    expect(json.items).toEqual([rest]);
    expect(Number(meta(json).resourceVersion)).toBeGreaterThanOrEqual(
      Number(a.metadata.resourceVersion),
    );
  });

  test.each([
    ['?pretty=1', 'application/json'],
    ['', 'application/yaml'],
  ])('items have no kind either in other forms: %s %s', async (query, accept) => {
    await create('a');
    const { text } = await send(t.server, { path: `${PATH}${query}`, headers: { accept } });
    expect(text).toContain('ConfigMapList');
    expect(text).toMatch(/resourceVersion: "\d+"|"resourceVersion": "\d+"/);
    expect(text).not.toMatch(/kind"?: "?ConfigMap"?,?\n/);
  });

  test('without matches is empty', async () => {
    expect((await list()).json.items).toEqual([]);
    expect((await list('', '/api/v1/namespaces/none/configmaps')).json.items).toEqual([]);
  });

  test('has the same content when it is long and sent in chunks', async () => {
    const text = 'ü'.repeat(100_000);
    for (const name of ['a', 'b', 'c']) {
      await send(t.server, {
        method: 'POST',
        path: PATH,
        body: { metadata: { name }, data: { text } },
      });
    }
    const { json, headers, bytes } = await list();
    expect(names(json)).toEqual(['a', 'b', 'c']);
    expect(json.items.every((item) => item.data?.['text'] === text)).toBe(true);
    expect(headers['content-length']).toBe(String(bytes.length));
  });
});

describe('selectors', () => {
  beforeEach(async () => {
    await create('a', { labels: { app: 'x', tier: 'front' } });
    await create('b', { labels: { app: 'x', tier: 'back' } });
    await create('c', { labels: { app: 'y' } });
  });

  test.each([
    ['app=x', ['a', 'b']],
    ['app=x,tier!=back', ['a']],
    ['app in (x,y),!tier', ['c']],
    ['tier', ['a', 'b']],
    ['app=z', []],
  ])('labels: %s', async (selector, expected) => {
    expect(names((await list(`labelSelector=${encodeURIComponent(selector)}`)).json)).toEqual(
      expected,
    );
  });

  test.each([
    ['metadata.name=b', ['b']],
    ['metadata.name!=b', ['a', 'c']],
    ['metadata.namespace=default,metadata.name=a', ['a']],
    ['metadata.namespace=other', []],
    ['metadata.name=none', []],
  ])('fields: %s', async (selector, expected) => {
    expect(names((await list(`fieldSelector=${encodeURIComponent(selector)}`)).json)).toEqual(
      expected,
    );
  });

  test('both must match', async () => {
    expect(
      names((await list('labelSelector=app%3Dy&fieldSelector=metadata.name%3Da')).json),
    ).toEqual([]);
  });

  test.each([
    [
      'fieldSelector=data.k%3Dv',
      '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
    ['labelSelector=a%20in', ''],
  ])('rejects %s', async (query, message) => {
    const { code, json } = await list(query);
    expect(code).toBe(400);
    expect(json.message).toContain(message);
  });

  test('kinds have fields of their own', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const containers = [{ name: 'c', image: 'i' }];
    await send(t.server, {
      method: 'POST',
      path: pods,
      body: { metadata: { name: 'p' }, spec: { nodeName: 'n1', containers } },
    });
    await send(t.server, {
      method: 'POST',
      path: pods,
      body: { metadata: { name: 'q' }, spec: { containers } },
    });
    expect(names((await list('fieldSelector=spec.nodeName%3Dn1', pods)).json)).toEqual(['p']);
    expect(names((await list('fieldSelector=spec.nodeName%3D', pods)).json)).toEqual(['q']);
    expect(
      names((await list('fieldSelector=spec.nodeName!%3Dn1,status.phase%3DPending', pods)).json),
    ).toEqual(['q']);
    const unknown = await list('fieldSelector=spec.foo%3Dx', pods);
    expect(unknown.code).toBe(400);
    expect(unknown.json.message).toContain('field label not supported: spec.foo');
  });
});

describe('pages', () => {
  test('show one state, also with writes in between', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await create(name);
    const first = (await list('limit=2')).json;
    expect(names(first)).toEqual(['a', 'b']);
    expect(meta(first).remainingItemCount).toBe(3);
    await create('bb');
    await send(t.server, { method: 'DELETE', path: `${PATH}/d` });
    const second = (await list(`limit=2&continue=${meta(first).continue}`)).json;
    expect(names(second)).toEqual(['c', 'd']);
    expect(meta(second)).toMatchObject({
      resourceVersion: meta(first).resourceVersion,
      remainingItemCount: 1,
    });
    const third = (await list(`limit=2&continue=${meta(second).continue}`)).json;
    expect(names(third)).toEqual(['e']);
    expect(meta(third).continue).toBeUndefined();
    expect(meta(third).remainingItemCount).toBeUndefined();
  });

  test('with selectors are full, without a remaining count', async () => {
    for (let i = 0; i < 30; i++)
      await create(`n${String(i).padStart(2, '0')}`, { labels: { odd: String(i % 2) } });
    const first = (await list('limit=10&labelSelector=odd%3D1')).json;
    expect(names(first)).toHaveLength(10);
    expect(meta(first).remainingItemCount).toBeUndefined();
    const second = (await list(`limit=10&labelSelector=odd%3D1&continue=${meta(first).continue}`))
      .json;
    expect([...names(first), ...names(second)]).toEqual(
      Array.from({ length: 15 }, (_, i) => `n${String(2 * i + 1).padStart(2, '0')}`),
    );
    expect(meta(second).continue).toBeUndefined();
  });

  test('with a compacted revision continue at the newest one on request', async () => {
    for (const name of ['a', 'b', 'c']) await create(name);
    const first = (await list('limit=1')).json;
    await create('aa');
    await t.storage.compact(await t.storage.currentRevision());
    const expired = await list(`limit=1&continue=${meta(first).continue}`);
    expect(expired.code).toBe(410);
    expect(expired.json.reason).toBe('Expired');
    expect(expired.json.message).toContain('The provided continue parameter is too old');
    const rest = (await list(`continue=${meta(expired.json).continue}`)).json;
    expect(names(rest)).toEqual(['aa', 'b', 'c']);
  });

  test.each([
    'x',
    Buffer.from('{}').toString('base64url'),
    Buffer.from('{"v":"meta.k8s.io/v1","rv":5,"start":"../x"}').toString('base64url'),
  ])('reject an invalid token: %s', async (token) => {
    const { code, json } = await list(`continue=${token}`);
    expect(code).toBe(400);
    expect(json.message).toContain('continue key is not valid');
  });

  test('reject a resourceVersion together with a token', async () => {
    await create('a');
    await create('b');
    const first = (await list('limit=1')).json;
    const { code, json } = await list(`limit=1&resourceVersion=1&continue=${meta(first).continue}`);
    expect(code).toBe(400);
    expect(json.message).toBe('specifying resource version is not allowed when using continue');
  });
});

describe('resourceVersion', () => {
  test('Exact returns exactly that state', async () => {
    const a = await create('a');
    await create('b');
    const { json } = await list(
      `resourceVersion=${a.metadata.resourceVersion}&resourceVersionMatch=Exact`,
    );
    expect(names(json)).toEqual(['a']);
    expect(meta(json).resourceVersion).toBe(a.metadata.resourceVersion);
  });

  test('NotOlderThan returns that state or a newer one', async () => {
    const a = await create('a');
    await create('b');
    for (const match of ['&resourceVersionMatch=NotOlderThan', '']) {
      expect(
        names((await list(`resourceVersion=${a.metadata.resourceVersion}${match}`)).json),
      ).toEqual(['a', 'b']);
    }
    expect(names((await list('resourceVersion=0')).json)).toEqual(['a', 'b']);
  });

  test('0 ignores the limit of the first page, but for events', async () => {
    for (const name of ['a', 'b', 'c']) await create(name);
    for (const match of ['&resourceVersionMatch=NotOlderThan', '']) {
      const { json } = await list(`limit=2&resourceVersion=0${match}`);
      expect(names(json)).toEqual(['a', 'b', 'c']);
      expect(meta(json).continue).toBeUndefined();
    }
    const first = (await list('limit=2')).json;
    const next = await list(`limit=1&resourceVersion=0&continue=${meta(first).continue}`);
    expect(names(next.json)).toEqual(['c']);
    const path = '/api/v1/namespaces/default/events';
    for (const name of ['d', 'e']) {
      const body = { metadata: { name }, involvedObject: { namespace: 'default' } };
      expect((await send(t.server, { path, method: 'POST', body })).code).toBe(201);
    }
    const events = await send(t.server, { path: `${path}?limit=1&resourceVersion=0` });
    expect(names(events.json)).toEqual(['d']);
  });

  test('with a limit and no match is exact', async () => {
    const a = await create('a');
    await create('b');
    expect(
      names((await list(`limit=5&resourceVersion=${a.metadata.resourceVersion}`)).json),
    ).toEqual(['a']);
  });

  test('in the future times out, and in the compacted past is 410', async () => {
    const a = await create('a');
    const future = await list('resourceVersion=99999999');
    expect(future.code).toBe(504);
    expect(future.json).toMatchObject({
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
    });
    expect(future.json.message).toMatch(
      /^Timeout: Too large resource version: 99999999, current: \d+$/,
    );
    await unrelated();
    await t.storage.compact(await t.storage.currentRevision());
    const past = await list(
      `resourceVersion=${a.metadata.resourceVersion}&resourceVersionMatch=Exact`,
    );
    expect(past.code).toBe(410);
    expect(past.json.reason).toBe('Expired');
    expect(past.json.message).toBe('The resourceVersion for the provided list is too old.');
  });

  test('of a get is a minimum', async () => {
    const a = await create('a');
    expect(
      (await send(t.server, { path: `${PATH}/a?resourceVersion=${a.metadata.resourceVersion}` }))
        .code,
    ).toBe(200);
    expect((await send(t.server, { path: `${PATH}/a?resourceVersion=99999999` })).code).toBe(504);
  });

  test.each([
    ['resourceVersion=x', 400, 'invalid resource version: resourceVersion: Invalid value: "x"'],
    [
      'resourceVersionMatch=Exact',
      422,
      'resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      'resourceVersionMatch=Exact&resourceVersion=0',
      422,
      'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    ['resourceVersionMatch=Maybe&resourceVersion=1', 422, 'Unsupported value: "Maybe"'],
    // These problems are found in this order.
    ['resourceVersionMatch=Maybe&resourceVersion=x', 422, 'Unsupported value: "Maybe"'],
    ['resourceVersion=x&continue=x', 400, 'continue key is not valid'],
    ['sendInitialEvents=true', 422, 'sendInitialEvents is forbidden for list'],
    ['limit=x', 400, 'invalid syntax'],
  ])('rejects %s', async (query, expected, message) => {
    const { code, json } = await list(query);
    expect(code).toBe(expected);
    expect(json.message).toContain(message);
  });
});
