import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { VirtualClock } from '#machinery/clock.ts';
import * as fields from '#machinery/selectors/fields.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
import type { Storage, StorageEvent } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import type { EncodedWatchEvent } from '../request.ts';
import { RecordingLogger } from '../testing/server.ts';
import { ObjectFormat } from './encoded-object.ts';
import { EventSource, type Subscription } from './event-source.ts';
import { ObjectCache } from './object-cache.ts';
import { RenewalRecord } from './renewed-states.ts';
import { metadataFields } from './selectable-fields.ts';
import { everything, Selection } from './selection.ts';

const PREFIX = '/registry/things/';
const format = new ObjectFormat('v1', 'Thing');
const turns = async () => {
  for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

let storage: Storage;
let renewals: RenewalRecord;
let source: EventSource;
beforeEach(() => {
  const clock = new VirtualClock();
  const logger = new RecordingLogger();
  storage = createMemoryStorage({ clock, logger });
  renewals = new RenewalRecord();
  source = new EventSource({
    renewed: renewals,
    storage,
    clock,
    logger,
    prefix: PREFIX,
    cache: new ObjectCache({ format }),
    namespaced: true,
    apiVersion: 'v1',
    kind: 'Thing',
    selectableFields: metadataFields,
    historyLength: 4,
    queueLimit: 50,
  });
});
afterEach(async () => {
  source.close();
  await storage.close();
});

async function put(key: string, more: object = {}): Promise<number> {
  const [namespace = '', name = ''] = key.split('/');
  const metadata = {
    name,
    namespace,
    uid: 'u',
    resourceVersion: '',
    creationTimestamp: '',
    ...more,
  };
  const { revision } = await storage.guaranteedUpdate(PREFIX + key, () => ({
    action: 'put',
    value: format.encode({ metadata }),
  }));
  return revision;
}

const subscribe = (more: Partial<Subscription>) =>
  source.subscribe({
    afterRevision: 0,
    namespace: '',
    selection: everything,
    bookmarks: false,
    ...more,
  });

async function take(stream: WatchStream<EncodedWatchEvent>, count: number): Promise<string[]> {
  const events: string[] = [];
  if (count === 0) return events;
  for await (const event of stream) {
    events.push(`${event.type} ${(event.object.object() as KubeObject).metadata.name}`);
    if (events.length === count) break;
  }
  return events;
}

test('a watcher of old revisions joins the others when it has caught up', async () => {
  const first = await put('ns/a');
  for (let i = 0; i < 3; i++) await put(`ns/b${i}`);
  await source.start();
  const stream = await subscribe({ afterRevision: first });
  await turns();
  expect(source.subscriberCount).toBe(1);
  await put('ns/c');
  expect(await take(stream, 4)).toEqual(['ADDED b0', 'ADDED b1', 'ADDED b2', 'ADDED c']);
  expect(source.subscriberCount).toBe(0);
});

test('nothing is lost or delivered twice while it catches up', async () => {
  const first = await put('ns/a');
  await source.start();
  for (let i = 0; i < 20; i++) await put(`ns/b${String(i).padStart(2, '0')}`);
  await turns();
  const streams = await Promise.all(
    [0, 1, 2].map(() =>
      subscribe({
        afterRevision: first,
        namespace: 'ns',
        selection: new Selection({ labels: labels.parse('!x') }),
      }),
    ),
  );
  for (let i = 20; i < 26; i++) await put(`ns/b${i}`);
  const expected = Array.from({ length: 26 }, (_, i) => `ADDED b${String(i).padStart(2, '0')}`);
  for (const stream of streams) expect(await take(stream, 26)).toEqual(expected);
});

test('a watcher that does not keep up is cut off, after the events that fit', async () => {
  await source.start();
  const stream = await subscribe({ afterRevision: await storage.currentRevision() });
  for (let i = 0; i < 70; i++) await put(`ns/b${i}`);
  await turns();
  expect(source.subscriberCount).toBe(0);
  expect((await take(stream, 100)).length).toBe(50);
});

test('a watcher of a name gets events in its namespace, or in all', async () => {
  const afterRevision = await put('a/other');
  const selection = new Selection({ fields: fields.parseSelector('metadata.name=x') });
  await source.start();
  const [inOne, inAll] = await Promise.all([
    subscribe({ afterRevision, namespace: 'a', selection }),
    subscribe({ afterRevision, selection }),
  ]);
  for (const key of ['a/x', 'b/x', 'b/y']) await put(key);
  await storage.delete(`${PREFIX}b/x`);
  await put('a/x');
  await turns();
  const late = await subscribe({ afterRevision, selection });
  source.close();
  const events = ['ADDED x', 'ADDED x', 'DELETED x', 'MODIFIED x'];
  expect(await take(inOne, 100)).toEqual(['ADDED x', 'MODIFIED x']);
  expect(await take(inAll, 100)).toEqual(events);
  expect(await take(late, 100)).toEqual(events);
});

test('only watchers that a change may concern are visited', async () => {
  await source.start();
  const afterRevision = await storage.currentRevision();
  let calls = 0;
  const counting: labels.Selector = {
    ...labels.everything(),
    empty: () => false,
    matches: () => ++calls > 0,
  };
  const selection = new Selection({ labels: counting });
  const stream = await subscribe({ afterRevision, namespace: 'elsewhere', selection });
  for (let i = 0; i < 10; i++) await put(`ns/b${i}`);
  await turns();
  expect(calls).toBe(0);
  await put('elsewhere/x');
  expect(await take(stream, 1)).toEqual(['ADDED x']);
  expect(calls).toBe(1);
});

test('when the storage ends its watch, all watches end', async () => {
  await source.start();
  const stream = await subscribe({ afterRevision: await storage.currentRevision() });
  await storage.close();
  expect(await take(stream, 1)).toEqual([]);
});

test('the history of another namespace is not delivered to a watcher', async () => {
  await source.start();
  const afterRevision = await put('mine/a');
  await put('others/a');
  await put('others/b');
  await put('mine/c');
  await turns();
  expect(await take(await subscribe({ afterRevision, namespace: 'mine' }), 1)).toEqual(['ADDED c']);
});

test('neither are older events', async () => {
  const afterRevision = await put('mine/a');
  await put('others/a');
  await put('mine/c');
  await source.start();
  expect(await take(await subscribe({ afterRevision, namespace: 'mine' }), 1)).toEqual(['ADDED c']);
});

test('changes that share a revision are all delivered, also when a watch resumes before it', async () => {
  const [first, second] = [await put('a/one'), await put('a/two')];
  const revision = second + 1;
  const stored = async (key: string) =>
    (await storage.get(PREFIX + key)) as NonNullable<Awaited<ReturnType<Storage['get']>>>;
  const deletions: StorageEvent[] = [
    {
      type: 'delete',
      revision,
      key: `${PREFIX}a/one`,
      previous: await stored('a/one'),
      more: true,
    },
    { type: 'delete', revision, key: `${PREFIX}a/two`, previous: await stored('a/two') },
  ];
  // On etcd, keys of one lease are deleted at one revision. The events arrive live, and again in a
  // watch of the past.
  const watches: WatchQueue<StorageEvent>[] = [];
  const clock = new VirtualClock();
  const shared = new EventSource({
    storage: {
      currentRevision: async () => second,
      watch: () => {
        const queue = new WatchQueue<StorageEvent>();
        watches.push(queue);
        return queue;
      },
    } satisfies Pick<Storage, 'currentRevision' | 'watch'> as unknown as Storage,
    clock,
    logger: new RecordingLogger(),
    prefix: PREFIX,
    cache: new ObjectCache({ format }),
    namespaced: true,
    apiVersion: 'v1',
    kind: 'Thing',
    selectableFields: metadataFields,
  });
  const ask = { namespace: '', selection: everything, bookmarks: false };
  const live = await shared.subscribe({ ...ask, afterRevision: second });
  const marked = { ...ask, afterRevision: second, bookmarks: true, timeoutMs: 150_000 };
  const all = await shared.subscribe(marked);
  const one = await shared.subscribe({
    ...marked,
    selection: new Selection({ fields: fields.parseSelector('metadata.name=two') }),
  });
  const past = await shared.subscribe({ ...ask, afterRevision: first });
  for (const event of deletions) {
    watches[0]?.push(event);
    watches[1]?.push(event);
    await turns();
    // Both kinds of bookmarks are due. A watcher that resumed from one within a revision would miss
    // the rest of it.
    if (event.type === 'delete' && event.more === true) await clock.advance('149s');
  }
  watches[0]?.push({ type: 'progress', revision });
  await turns();
  await clock.advance('31s');
  shared.close();
  const eventsOf = async (stream: WatchStream<EncodedWatchEvent>): Promise<string[]> => {
    const events: string[] = [];
    for await (const { type, object } of stream)
      events.push(`${type} ${(object.object() as KubeObject).metadata.resourceVersion}`);
    return events;
  };
  expect(await eventsOf(all)).toEqual([`DELETED ${revision}`, `DELETED ${revision}`]);
  expect(await eventsOf(one)).toEqual([`BOOKMARK ${second}`, `DELETED ${revision}`]);
  for (const stream of [live, past]) {
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual(['DELETED', 'DELETED']);
  }
});

/** Writes the object as a renewal. */
async function renew(name: string, text: string): Promise<number> {
  const key = `${PREFIX}ns/${name}`;
  const metadata = { name, namespace: 'ns', uid: 'u', resourceVersion: '', labels: { text } };
  const value = format.encode({ metadata: { ...metadata, creationTimestamp: '' } });
  const revision = (await storage.currentRevision()) + 1;
  renewals.add(revision, revision);
  await storage.guaranteedUpdate(key, () => ({ action: 'put', value }));
  return revision;
}

test('a watcher may leave out renewals, and gets all other changes and bookmarks', async () => {
  const afterRevision = await put('ns/a');
  const without = await subscribe({ afterRevision, withoutRenewals: true });
  const each = await subscribe({ afterRevision });
  await renew('a', '1');
  await put('ns/b');
  await renew('a', '2');
  await put('ns/a', { labels: { text: '3' } });
  expect(await take(each, 4)).toEqual(['MODIFIED a', 'ADDED b', 'MODIFIED a', 'MODIFIED a']);
  expect(await take(without, 2)).toEqual(['ADDED b', 'MODIFIED a']);
});

test('a new watcher gets renewals that all others have left out', async () => {
  const afterRevision = await put('ns/a');
  const without = await subscribe({ afterRevision, withoutRenewals: true });
  const renewed = await renew('a', '1');
  await renew('a', '2');
  await turns();
  const late = await subscribe({ afterRevision });
  const later = await subscribe({ afterRevision: renewed });
  await put('ns/b');
  expect(await take(late, 3)).toEqual(['MODIFIED a', 'MODIFIED a', 'ADDED b']);
  expect(await take(later, 2)).toEqual(['MODIFIED a', 'ADDED b']);
  expect(await take(without, 1)).toEqual(['ADDED b']);
});
