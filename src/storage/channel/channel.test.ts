import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger as logger } from '#machinery/log.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { type Storage, StorageError, type StorageEvent } from '../interface.ts';
import { createMemoryStorage } from '../memory/index.ts';
import { openWatchCache } from '../watch-cache/index.ts';
import { FrameWriter } from './frames.ts';
import { openChannelStorage, serveStorage } from './index.ts';
import * as protocol from './protocol.ts';
import { channelTo, socketPair } from './testing/channel.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const memory = (): Storage => createMemoryStorage({ clock: systemClock, logger });

async function reasonOf(operation: Promise<unknown>): Promise<string> {
  const error: unknown = await operation.then(
    () => new Error('the operation succeeded'),
    (error_: unknown) => error_,
  );
  if (!(error instanceof StorageError)) throw error;
  return error.reason;
}

/** Returns a storage whose operations wait until `release` is called. */
function held(storage: Storage): { storage: Storage; release: () => void } {
  const { promise, resolve } = withResolvers();
  const create: Storage['create'] = async (...args) => {
    await promise;
    return storage.create(...args);
  };
  const get: Storage['get'] = async (...args) => {
    await promise;
    return storage.get(...args);
  };
  return { storage: { ...bound(storage), create, get }, release: resolve };
}

/** Returns the operations of a storage as functions of an object that can be spread. */
function bound(storage: Storage): Storage {
  return {
    get: (...args) => storage.get(...args),
    list: (...args) => storage.list(...args),
    addIndex: (...args) => storage.addIndex(...args),
    count: (...args) => storage.count(...args),
    create: (...args) => storage.create(...args),
    guaranteedUpdate: (...args) => storage.guaranteedUpdate(...args),
    delete: (...args) => storage.delete(...args),
    watch: (...args) => storage.watch(...args),
    compact: (...args) => storage.compact(...args),
    currentRevision: () => storage.currentRevision(),
    health: () => storage.health(),
    close: () => storage.close(),
  };
}

describe('a broken channel', () => {
  test('fails reads and watches with Closed, and writes without a result with Unavailable', async () => {
    const behind = held(memory());
    const { storage, cut } = await channelTo(behind.storage, await socketPair());
    const operations = [storage.get('/a/x'), storage.create('/a/x', bytes('1'))].map(reasonOf);
    const watching = reasonOf(storage.watch('/a/')[Symbol.asyncIterator]().next());
    // A call that is answered after the others have arrived.
    await storage.currentRevision();
    cut();
    expect(await Promise.all(operations)).toEqual(['Closed', 'Unavailable']);
    expect(await watching).toBe('Closed');
    expect(await reasonOf(storage.create('/a/y', bytes('2')))).toBe('Closed');
    behind.release();
    await storage.close();
  });

  test('leaves the storage behind it and other channels alone', async () => {
    const behind = memory();
    const [one, two] = [await channelTo(behind), await channelTo(behind)];
    one.cut();
    expect(await reasonOf(one.storage.health())).toBe('Closed');
    const created = await two.storage.create('/a/x', bytes('1'));
    expect((await behind.get('/a/x'))?.modRevision).toBe(created.modRevision);
    await two.storage.close();
  });

  test('ends at bytes that are no frames', async () => {
    const behind = memory();
    const [near, far] = await socketPair();
    const served = serveStorage({ storage: behind, stream: far, logger });
    near.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await served.closed;
    const [mine, theirs] = await socketPair();
    const opening = reasonOf(openChannelStorage({ stream: mine, logger }));
    theirs.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    expect(await opening).toBe('Closed');
    await behind.close();
  });

  test('ends at a frame of an unknown type, and keeps the process', async () => {
    const behind = memory();
    const [near, far] = await socketPair();
    const served = serveStorage({ storage: behind, stream: far, logger });
    new FrameWriter(near).begin(60, 1).end();
    await served.closed;
    expect(await behind.count('/a/')).toBe(0);
    await behind.close();
  });
});

test('another version of the program is rejected', async () => {
  const behind = memory();
  const [near, far] = duplexPair();
  serveStorage({ storage: behind, stream: far, logger });
  const frames = new FrameWriter(near);
  const answer = once(near, 'data') as Promise<[Buffer]>;
  frames.begin(protocol.HELLO, 1).u32(protocol.VERSION + 1);
  frames.end();
  expect((await answer)[0].toString()).toContain('the channel has version');
  near.destroy();
  await behind.close();
});

test('large values pass in both directions, while lists are sent in parts', async () => {
  const behind = memory();
  const { storage } = await channelTo(behind, await socketPair());
  const sizes = [0, 1, 32 * 1024, 3_000_000, 300_000, 70_000];
  const valueOf = (size: number): Uint8Array => new Uint8Array(size).fill(size % 251);
  await Promise.all(sizes.map((size) => storage.create(`/a/${size}`, valueOf(size))));
  for (const size of sizes)
    expect(Buffer.compare((await storage.get(`/a/${size}`))!.value, valueOf(size))).toBe(0);
  const { items } = await storage.list('/a/');
  expect(items.map(({ value }) => value.length).toSorted((a, b) => a - b)).toEqual(
    sizes.toSorted((a, b) => a - b),
  );
  await storage.close();
});

test('a client that does not read holds back its watches and lists, and nothing else', async () => {
  const behind = memory();
  const { modRevision: begin } = await behind.create('/a/first', bytes(''));
  const [near, far] = await socketPair();
  serveStorage({ storage: behind, stream: far, logger });
  const storage = await openChannelStorage({ stream: near, logger });
  const watch = storage.watch('/a/', { afterRevision: begin });
  await storage.currentRevision();
  near.pause();
  const value = new Uint8Array(100_000);
  for (let i = 0; i < 300; i++) await behind.create(`/a/${i}`, value);
  // 30 MB of events: what the server has taken from the store is bounded.
  expect(far.writableLength).toBeLessThan(8 * 1024 * 1024);
  near.resume();
  const revisions: number[] = [];
  for await (const event of watch) {
    revisions.push(event.revision);
    if (revisions.length === 300) break;
  }
  expect(revisions).toEqual(Array.from({ length: 300 }, (_, i) => begin + 1 + i));
  await storage.close();
  await behind.close();
});

test('progress covers revisions of other prefixes, and follows the events', async () => {
  const behind = memory();
  const { storage } = await channelTo(behind, await socketPair());
  const watch = storage.watch('/a/', { progressIntervalMs: 3_600_000 });
  const events = watch[Symbol.asyncIterator]();
  const next = async (): Promise<StorageEvent> => (await events.next()).value as StorageEvent;
  expect((await next()).type).toBe('progress');
  const { modRevision } = await behind.create('/a/x', bytes('1'));
  const { modRevision: last } = await behind.create('/b/x', bytes('1'));
  storage.requestProgress?.();
  expect(await next()).toMatchObject({ type: 'put', revision: modRevision });
  storage.requestProgress?.();
  expect(await next()).toEqual({ type: 'progress', revision: last });
  watch.stop();
  await storage.close();
});

test('what is acknowledged anywhere is read everywhere', async () => {
  const behind = memory();
  const clock = systemClock;
  const open = async (): Promise<Storage> =>
    openWatchCache({
      clock,
      logger,
      storage: (await channelTo(bound(behind), await socketPair())).storage,
    });
  const stores = [behind, await open(), await open()];
  const writers = stores.map(async (storage, writer) => {
    for (let i = 0; i < 60; i++) {
      const key = `/p/${(writer + i) % 5}`;
      const { revision } = await storage.guaranteedUpdate(key, (current) => ({
        action: 'put',
        value: bytes(`${current?.value.length ?? 0} ${writer}/${i}`),
      }));
      const reads = await Promise.all(stores.map((each) => each.get(key)));
      for (const read of reads) expect(read?.modRevision).toBeGreaterThanOrEqual(revision);
      const lists = await Promise.all(stores.map((each) => each.list('/p/')));
      for (const list of lists) expect(list.revision).toBeGreaterThanOrEqual(revision);
    }
  });
  await Promise.all(writers);
  expect(await behind.currentRevision()).toBe(1 + 3 * 60);
  for (const storage of stores.slice(1)) await storage.close();
});
