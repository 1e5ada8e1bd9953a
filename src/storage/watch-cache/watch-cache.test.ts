import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
import { storageConformance } from '../conformance.ts';
import { openEmbeddedStorage } from '../embedded/index.ts';
import { openEtcdStorage } from '../etcd/index.ts';
import { ETCD_HINT, type EtcdProcess, hasEtcd, startEtcd } from '../etcd/testing/etcd-process.ts';
import { type Storage, StorageError, type StorageEvent } from '../interface.ts';
import { createMemoryStorage } from '../memory/index.ts';
import { openWatchCache } from './index.ts';

const logger = silentLogger;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

storageConformance('memory behind the watch cache', async (options) => {
  const clock = new VirtualClock();
  const storage = await openWatchCache({
    clock,
    logger,
    ...options,
    storage: createMemoryStorage({ clock, logger, ...options }),
  });
  return { storage, advance: (ms) => clock.advance(ms), dispose: () => storage.close() };
});

storageConformance('embedded behind the watch cache', async (options) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'coxswain-cache-'));
  const clock = new VirtualClock();
  const open = async (): Promise<Storage> => {
    const storage = await openEmbeddedStorage({ clock, logger, dataDir, ...options });
    return openWatchCache({ clock, logger, storage, ...options });
  };
  let storage = await open();
  return {
    storage,
    advance: (ms) => clock.advance(ms),
    reopen: async () => {
      await storage.close();
      storage = await open();
      return storage;
    },
    dispose: async () => {
      await storage.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
});

describe.skipIf(!hasEtcd())(`etcd behind the watch cache (${ETCD_HINT})`, () => {
  let etcd: EtcdProcess;
  let stores = 0;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());
  const openOn = async (
    prefix: string,
    options: { readonly watchBufferEvents?: number } = {},
  ): Promise<Storage> => {
    const storage = await openEtcdStorage({
      clock: systemClock,
      random: systemRandom,
      logger,
      endpoints: [etcd.endpoint],
      prefix,
      logicalPrefix: '',
      compactionIntervalMs: 0,
    });
    // On old versions of etcd progress is made by a write, which the suite would count as one of
    // its own.
    return openWatchCache({ clock: systemClock, logger, storage, askAfterMs: 2500, ...options });
  };

  storageConformance('etcd behind the watch cache', async (options) => {
    const prefix = `/cached-${++stores}`;
    let storage = await openOn(prefix, options);
    return {
      storage,
      timeScale: 60,
      advance: (ms) => systemClock.sleep(ms / 60),
      reopen: async () => {
        await storage.close();
        storage = await openOn(prefix, options);
        return storage;
      },
      dispose: () => storage.close(),
    };
  });

  test('reads on one server are never older than a completed write on another', async () => {
    const [one, other] = [await openOn('/two'), await openOn('/two')] as const;
    for (let i = 0; i < 100; i++) {
      const { revision } = await one.guaranteedUpdate('/p/a', () => ({
        action: 'put',
        value: bytes(String(i)),
      }));
      const [kv, list] = await Promise.all([other.get('/p/a'), other.list('/p/')]);
      expect(kv?.modRevision).toBe(revision);
      expect(list.items[0]?.modRevision).toBe(revision);
    }
    await one.close();
    await other.close();
  });
});

describe('watch cache', () => {
  /** Returns a store whose watch delivers only the events that the test passes on. */
  const held = async (): Promise<{
    storage: Storage;
    watches: WatchQueue<StorageEvent>[];
    revision: number;
  }> => {
    const clock = new VirtualClock();
    const storage = createMemoryStorage({ clock, logger });
    const { modRevision: revision } = await storage.create('/p/a', bytes('1'));
    const watches: WatchQueue<StorageEvent>[] = [];
    const slow: Storage = {
      get: (...args) => storage.get(...args),
      list: (...args) => storage.list(...args),
      addIndex: (...args) => storage.addIndex(...args),
      count: (...args) => storage.count(...args),
      create: (...args) => storage.create(...args),
      guaranteedUpdate: (...args) => storage.guaranteedUpdate(...args),
      delete: (...args) => storage.delete(...args),
      compact: (...args) => storage.compact(...args),
      currentRevision: () => storage.currentRevision(),
      health: () => storage.health(),
      close: () => storage.close(),
      watch: () => {
        const queue = new WatchQueue<StorageEvent>();
        watches.push(queue);
        return queue;
      },
    };
    return {
      storage: await openWatchCache({
        clock: systemClock,
        logger,
        storage: slow,
        maxWaitMs: 60_000,
      }),
      watches,
      revision,
    };
  };

  test('waits for writes from before the request, and for nothing else', async () => {
    const { storage, watches, revision } = await held();
    expect((await storage.get('/p/a'))?.modRevision).toBe(revision);
    const created = await storage.create('/p/b', bytes('2'));
    let isDone = false;
    const reading = storage.get('/p/b').then((kv) => {
      isDone = true;
      return kv;
    });
    await systemClock.sleep(10);
    expect(isDone).toBe(false);
    watches[0]?.push({ type: 'put', revision: created.modRevision, kv: created });
    expect(await reading).toEqual(created);
    const { revision: gone } = await storage.delete('/p/b');
    const counting = storage.count('/p/');
    watches[0]?.push({
      type: 'delete',
      revision: gone,
      key: '/p/b',
      previous: created,
      more: true,
    });
    watches[0]?.push({ type: 'progress', revision: gone });
    expect(await counting).toBe(1);
    await storage.close();
  });

  test('fills itself again when its watch ends, and makes watchers resume', async () => {
    const { storage, watches } = await held();
    const stream = storage.watch('/p/');
    watches[0]?.fail(new Error('broken'));
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      reason: 'Unavailable',
    });
    expect(await storage.count('/p/')).toBe(1);
    expect(watches).toHaveLength(2);
    await storage.close();
  });

  test('delivers every event once to resuming watchers, however often it is filled again', async () => {
    const clock = new VirtualClock();
    const memory = createMemoryStorage({ clock, logger });
    let upstream: WatchStream<StorageEvent> | undefined;
    /** A store whose watches can be broken. */
    const breakable: Storage = {
      get: (...args) => memory.get(...args),
      list: (...args) => memory.list(...args),
      addIndex: (...args) => memory.addIndex(...args),
      count: (...args) => memory.count(...args),
      create: (...args) => memory.create(...args),
      guaranteedUpdate: (...args) => memory.guaranteedUpdate(...args),
      delete: (...args) => memory.delete(...args),
      compact: (...args) => memory.compact(...args),
      currentRevision: () => memory.currentRevision(),
      health: () => memory.health(),
      close: () => memory.close(),
      watch: (prefix, options) => {
        const stream = memory.watch(prefix, options);
        // The first watch after a fill is the cache's own.
        upstream ??= stream;
        return stream;
      },
    };
    const storage = await openWatchCache({ clock, logger, storage: breakable, maxEvents: 50 });
    const write = async (count: number): Promise<number> => {
      for (let i = 0; i < count; i++) {
        await storage.guaranteedUpdate(`/p/${i % 7}`, () => ({
          action: 'put',
          value: bytes(String(i)),
        }));
      }
      return await storage.currentRevision();
    };
    const compacted = await write(20);
    await storage.compact(compacted);
    const now = await write(100);
    const last = now + 140;
    let returns = 0;
    const follow = async (afterRevision: number): Promise<number[]> => {
      const received: number[] = [];
      for (;;) {
        try {
          for await (const event of storage.watch('/p/', {
            afterRevision: received.at(-1) ?? afterRevision,
          })) {
            received.push(event.revision);
            if (event.revision === last) return received;
          }
        } catch (error) {
          if (!(error instanceof StorageError) || error.reason !== 'Unavailable') throw error;
          returns++;
        }
      }
    };
    const offsets = [-100, -99, -50, -1, 0, 1, 50, 99, 100];
    const follows = offsets.map((offset) => follow(now + offset));
    const tooOld = follow(compacted - 1).catch((error: unknown) => error);
    for (let round = 0; round < 7; round++) {
      await write(20);
      const broken = upstream;
      upstream = undefined;
      broken?.stop();
      await systemClock.sleep(1);
    }
    for (const [i, received] of (await Promise.all(follows)).entries()) {
      const first = now + (offsets[i] ?? 0) + 1;
      expect(received).toEqual(Array.from({ length: last - first + 1 }, (_, each) => first + each));
    }
    expect(returns).toBeGreaterThan(0);
    expect(await tooOld).toMatchObject({ reason: 'Expired' });
    await storage.close();
  });
});
