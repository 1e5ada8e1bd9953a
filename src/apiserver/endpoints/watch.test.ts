import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';

import type { WatchStream } from '#machinery/watch.ts';
import type { EncodedWatchEvent } from '../request.ts';
import { type Answer, handle, send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

const t = serverPerTest();
const clock = () => t.clock;

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
const label = (name: string, labels: object) =>
  send(t.server, {
    method: 'PATCH',
    path: `${PATH}/${name}`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { metadata: { labels } },
  });
const remove = (name: string) => send(t.server, { method: 'DELETE', path: `${PATH}/${name}` });

class Watch {
  readonly stream: WatchStream<EncodedWatchEvent>;
  readonly #iterator: AsyncIterator<EncodedWatchEvent>;

  constructor(stream: WatchStream<EncodedWatchEvent>) {
    this.stream = stream;
    this.#iterator = stream[Symbol.asyncIterator]();
  }

  async next(): Promise<string> {
    const { done, value } = await this.#iterator.next();
    if (done === true) return 'END';
    const { metadata } = value.object.object() as KubeObject;
    return value.type === 'BOOKMARK' ? 'BOOKMARK' : `${value.type} ${metadata.name ?? ''}`;
  }

  async event(): Promise<{ type: string; object: Answer }> {
    const { value } = (await this.#iterator.next()) as { value: EncodedWatchEvent };
    return { type: value.type, object: value.object.object() as Answer };
  }

  async take(count: number): Promise<string[]> {
    const events: string[] = [];
    while (events.length < count) events.push(await this.next());
    return events;
  }
}

async function watch(query = '', path = PATH): Promise<Watch> {
  const { body, code } = await handle(t.server, {
    path: `${path}?watch=true${query === '' ? '' : `&${query}`}`,
  });
  if (body.kind !== 'watch')
    throw new Error(
      `${code}: ${JSON.stringify(body.kind === 'object' ? body.object.object() : body)}`,
    );
  return new Watch(body.events);
}

describe('watch', () => {
  test('begins with the present objects, then sends changes', async () => {
    await create('a');
    const w = await watch();
    await create('b');
    await label('a', { x: 'y' });
    await remove('b');
    expect(await w.take(4)).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b']);
  });

  test('from a resourceVersion sends the changes after it', async () => {
    const a = await create('a');
    await create('b');
    const w = await watch(`resourceVersion=${a.metadata.resourceVersion}`);
    await create('c');
    expect(await w.take(2)).toEqual(['ADDED b', 'ADDED c']);
  });

  test('a deletion has a resourceVersion of its own, from which a watch can resume', async () => {
    const a = await create('a');
    const w = await watch(`resourceVersion=${a.metadata.resourceVersion}`);
    await remove('a');
    const { type, object } = await w.event();
    expect(type).toBe('DELETED');
    expect(Number(object.metadata.resourceVersion)).toBeGreaterThan(
      Number(a.metadata.resourceVersion),
    );
    expect(object.metadata.uid).toBe(a.metadata.uid);
  });

  test('of one namespace or one name sends no other events', async () => {
    const all = await watch('', '/api/v1/configmaps');
    const one = await watch('', '/api/v1/watch/namespaces/default/configmaps/b');
    const byField = await watch('fieldSelector=metadata.name%3Db');
    const old = await watch('', '/api/v1/watch/namespaces/default/configmaps');
    await create('a');
    await create('b', {}, 'kube-system');
    await create('b');
    expect(await all.take(3)).toEqual(['ADDED a', 'ADDED b', 'ADDED b']);
    expect(await one.event()).toMatchObject({
      type: 'ADDED',
      object: { metadata: { name: 'b', namespace: 'default' } },
    });
    expect(await byField.event()).toMatchObject({
      type: 'ADDED',
      object: { metadata: { name: 'b', namespace: 'default' } },
    });
    expect(await old.take(2)).toEqual(['ADDED a', 'ADDED b']);
  });

  test('with a selector, objects are added when they begin to match, and deleted when they cease to', async () => {
    await create('a', { labels: { x: '1' } });
    const w = await watch('labelSelector=x%3D1');
    await create('b');
    await label('a', { y: '2' });
    await label('a', { x: '2' });
    await label('b', { x: '1' });
    await remove('b');
    expect(await w.take(5)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED b', 'DELETED b']);
  });

  test('an object that leaves the selection is sent as it was before', async () => {
    const a = await create('a', { labels: { x: '1' } });
    const w = await watch(`labelSelector=x%3D1&resourceVersion=${a.metadata.resourceVersion}`);
    const changed = await label('a', { x: '2' });
    const { type, object } = await w.event();
    expect(type).toBe('DELETED');
    expect(object.metadata.labels).toEqual({ x: '1' });
    expect(object.metadata.resourceVersion).toBe(changed.json.metadata.resourceVersion);
  });

  test('by an indexed field, pods are added and deleted', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const w = await watch('fieldSelector=spec.nodeName%3Dn1', '/api/v1/pods');
    const containers = [{ name: 'c', image: 'i' }];
    await send(t.server, {
      method: 'POST',
      path: pods,
      body: { metadata: { name: 'p' }, spec: { containers } },
    });
    await send(t.server, {
      method: 'POST',
      path: pods,
      body: { metadata: { name: 'q' }, spec: { containers, nodeName: 'n2' } },
    });
    await send(t.server, {
      method: 'POST',
      path: `${pods}/p/binding`,
      body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n1' } },
    });
    await send(t.server, { method: 'DELETE', path: `${pods}/p`, body: { gracePeriodSeconds: 0 } });
    expect(await w.take(2)).toEqual(['ADDED p', 'DELETED p']);
  });

  test('an event is encoded once for all watchers', async () => {
    const one = await handle(t.server, { path: `${PATH}?watch=1` });
    const two = await handle(t.server, { path: '/api/v1/configmaps?watch=1' });
    await create('a');
    const frames: Uint8Array[] = [];
    for (const { body } of [one, two]) {
      if (body.kind !== 'watch') throw new Error('no watch');
      for await (const event of body.events) {
        frames.push(event.frame());
        break;
      }
    }
    expect(frames[0]).toBe(frames[1]);
    expect(JSON.parse(Buffer.from(frames[0]!).toString())).toMatchObject({
      type: 'ADDED',
      object: { kind: 'ConfigMap', metadata: { name: 'a' } },
    });
  });
});

describe('the end of a watch', () => {
  test('comes after the client’s timeout', async () => {
    const w = await watch('timeoutSeconds=5');
    await clock().advance('4s');
    await create('a');
    expect(await w.next()).toBe('ADDED a');
    await clock().advance('2s');
    expect(await w.next()).toBe('END');
  });

  test('comes after 30 to 60 minutes otherwise', async () => {
    const w = await watch();
    await clock().advance('29m');
    await create('a');
    expect(await w.next()).toBe('ADDED a');
    await clock().advance('31m');
    expect(await w.next()).toBe('END');
  });

  test('comes when the server stops', async () => {
    const w = await watch();
    await t.server.stop();
    expect(await w.next()).toBe('END');
  });

  test('comes when the client disconnects', async () => {
    const clientGone = new AbortController();
    const { body } = await handle(t.server, { path: `${PATH}?watch=1` }, clientGone.signal);
    if (body.kind !== 'watch') throw new Error('no watch');
    const w = new Watch(body.events);
    clientGone.abort();
    expect(await w.next()).toBe('END');
  });
});

describe('an old resourceVersion', () => {
  test('is served from the history of the store', async () => {
    const a = await create('a');
    for (let i = 0; i < 5; i++) await create(`n${i}`);
    // The first watcher starts the server's cache; the second one asks for revisions before that.
    await watch();
    const w = await watch(`resourceVersion=${a.metadata.resourceVersion}`);
    await create('last');
    expect(await w.take(6)).toEqual([
      'ADDED n0',
      'ADDED n1',
      'ADDED n2',
      'ADDED n3',
      'ADDED n4',
      'ADDED last',
    ]);
  });

  test('that was compacted is 410, as a response or as an event', async () => {
    const a = await create('a');
    await create('b');
    await create('c');
    await t.storage.compact(await t.storage.currentRevision());
    const response = await handle(t.server, {
      path: `${PATH}?watch=1&resourceVersion=${a.metadata.resourceVersion}`,
    });
    if (response.body.kind === 'object') {
      expect(response.code).toBe(410);
      expect(response.body.object.object()).toMatchObject({ reason: 'Expired', code: 410 });
      return;
    }
    if (response.body.kind !== 'watch') throw new Error('no watch');
    expect(await new Watch(response.body.events).event()).toMatchObject({
      type: 'ERROR',
      object: { reason: 'Expired', code: 410 },
    });
  });
});

describe('bookmarks', () => {
  test('are sent to clients that request them, with the latest revision', async () => {
    const w = await watch('allowWatchBookmarks=true');
    const silent = await watch();
    expect(await w.next()).toBe('BOOKMARK');
    await create('elsewhere', {}, 'kube-system');
    await clock().advance('61s');
    const { type, object } = await w.event();
    expect(type).toBe('BOOKMARK');
    const { resourceVersion } = object.metadata;
    expect(object).toEqual({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion } });
    expect(Number(resourceVersion)).toBeGreaterThan(0);
    await create('a');
    expect(await silent.next()).toBe('ADDED a');
  });

  test('allow a watch to resume', async () => {
    const w = await watch('allowWatchBookmarks=true');
    expect(await w.next()).toBe('BOOKMARK');
    await create('elsewhere', {}, 'kube-system');
    await clock().advance('61s');
    const { object } = await w.event();
    await create('a');
    const next = await watch(`resourceVersion=${object.metadata.resourceVersion}`);
    expect(await next.next()).toBe('ADDED a');
  });

  test('are sent 2 s before the end of a watch', async () => {
    const ending = await watch('allowWatchBookmarks=true&timeoutSeconds=30');
    const silent = await watch('timeoutSeconds=30');
    const short = await watch('allowWatchBookmarks=true&timeoutSeconds=2');
    for (const w of [ending, short]) expect(await w.next()).toBe('BOOKMARK');
    await create('a');
    await create('elsewhere', {}, 'kube-system');
    for (const w of [ending, silent, short]) expect(await w.next()).toBe('ADDED a');
    await clock().advance('27999ms');
    const last = ending.event();
    let isDone = false;
    void last.then(() => (isDone = true));
    await Promise.resolve();
    expect(isDone).toBe(false);
    await clock().advance('1ms');
    const { type, object } = await last;
    expect(type).toBe('BOOKMARK');
    const resume = await watch(`resourceVersion=${object.metadata.resourceVersion}`);
    await create('b');
    for (const w of [ending, silent]) expect(await w.next()).toBe('ADDED b');
    await clock().advance('2s');
    for (const w of [ending, silent, short]) expect(await w.next()).toBe('END');
    expect(await resume.next()).toBe('ADDED b');
  });

  test('also after an initial state whose revision the client does not have', async () => {
    await create('a');
    const { resourceVersion } = (await create('gone')).metadata;
    await remove('gone');
    const w = await watch('resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=5');
    expect(await w.take(2)).toEqual(['ADDED a', 'BOOKMARK']);
    await clock().advance('3s');
    const { type, object } = await w.event();
    expect(type).toBe('BOOKMARK');
    expect(Number(object.metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion));
  });

  test('also if the server chooses the duration', async () => {
    const w = await watch('allowWatchBookmarks=true');
    const events = w.take(3);
    // Nothing is written, so no other event is due.
    await clock().advance('61m');
    expect(await events).toEqual(['BOOKMARK', 'BOOKMARK', 'END']);
  });

  test('mark the end of the initial events', async () => {
    await create('a');
    const query =
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const w = await watch(query);
    expect(await w.next()).toBe('ADDED a');
    const { type, object } = await w.event();
    expect(type).toBe('BOOKMARK');
    expect(object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    await create('b');
    expect(await w.next()).toBe('ADDED b');
  });

  test('without initial events a watch begins now', async () => {
    await create('a');
    const w = await watch('sendInitialEvents=false&resourceVersionMatch=NotOlderThan');
    await create('b');
    expect(await w.next()).toBe('ADDED b');
  });

  test.each([
    [
      'sendInitialEvents=true',
      'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    ],
    ['sendInitialEvents=true&resourceVersionMatch=Exact', 'Unsupported value: "Exact"'],
    [
      'resourceVersionMatch=NotOlderThan',
      'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    ],
  ])('rejects %s', async (query, message) => {
    const { code, json } = await send(t.server, { path: `${PATH}?watch=1&${query}` });
    expect(code).toBe(422);
    expect(json.message).toContain(message);
  });
});
