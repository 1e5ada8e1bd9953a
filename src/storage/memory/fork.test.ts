// Forks of a store in memory: each side is compared with a store of its own that got the same
// writes.

import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom, type Random } from '#machinery/random.ts';
import { storageConformance } from '../conformance.ts';
import type { StorageEvent } from '../interface.ts';
import { createMemoryStorage, type MemoryState, type MemoryStorage, rewind } from './index.ts';

storageConformance('memory, forked', async (options) => {
  const clock = new VirtualClock();
  const config = { clock, logger: silentLogger, ...options };
  const first = createMemoryStorage(config);
  const storage = createMemoryStorage({ ...config, state: first.freeze() });
  // The other side goes its own way.
  await first.create('/conformance/elsewhere', new Uint8Array(1), { ttlMs: 10 });
  return {
    storage,
    advance: (ms) => clock.advance(ms),
    dispose: async () => {
      await Promise.all([first.close(), storage.close()]);
    },
  };
});

type Write =
  | { readonly type: 'put'; readonly key: string; readonly text: string; readonly ttlMs?: number }
  | { readonly type: 'delete'; readonly key: string }
  | { readonly type: 'compact'; readonly back: number };

function randomWrite(random: Random, step: number): Write {
  const key = `/r/${random.int(6)}/k${random.int(150)}`;
  const action = random.int(100);
  if (action < 1) return { type: 'compact', back: random.int(100) };
  if (action < 30) return { type: 'delete', key };
  const text = `value ${step}`;
  return action < 40
    ? { type: 'put', key, text, ttlMs: 1000 + random.int(5000) }
    : { type: 'put', key, text };
}

async function perform(storage: MemoryStorage, write: Write): Promise<void> {
  if (write.type === 'compact') {
    await storage.compact(Math.max(1, (await storage.currentRevision()) - write.back));
  } else if (write.type === 'delete') {
    await storage.guaranteedUpdate(write.key, () => ({ action: 'delete' }));
  } else {
    const { text, ttlMs } = write;
    const value = Buffer.from(text);
    await storage.guaranteedUpdate(write.key, () => ({
      action: 'put',
      value,
      ...(ttlMs !== undefined && { ttlMs }),
    }));
  }
}

/** Everything that a client can find out about a store. */
async function contentOf(storage: MemoryStorage): Promise<unknown> {
  const now = await storage.list('/');
  const { store } = storage.freeze();
  const pasts: unknown[] = [];
  for (let revision = store.compactedRevision; revision <= now.revision; revision += 7) {
    const past = await storage.list('/r/', { revision });
    const page = await storage.list('/r/', { revision, limit: 5 });
    pasts.push(past, page.remaining, await storage.get('/r/1/k1', { revision }));
  }
  const events: StorageEvent[] = [];
  const watch = storage.watch('/r/', { afterRevision: store.compactedRevision });
  const count = store.eventsAfter(store.compactedRevision, '/r/').length;
  if (count > 0) {
    for await (const event of watch) {
      events.push(event);
      if (events.length === count) break;
    }
  }
  watch.stop();
  const counts = await Promise.all([0, 1, 2, 3, 4, 5].map((n) => storage.count(`/r/${n}/`)));
  return { now, pasts, events, counts, bytes: store.historyBytes };
}

interface Side {
  readonly clock: VirtualClock;
  readonly storage: MemoryStorage;
  readonly writes: (Write | { readonly type: 'advance'; readonly ms: number })[];
}

function makeSide(start?: { readonly state: MemoryState; readonly writes: Side['writes'] }): Side {
  const clock = new VirtualClock(start === undefined ? {} : { start: start.state.now });
  const state = start?.state;
  const storage = createMemoryStorage({ clock, logger: silentLogger, state, historyMs: 1e9 });
  return { clock, storage, writes: [...(start?.writes ?? [])] };
}

async function act(side: Side, action: Side['writes'][number]): Promise<void> {
  side.writes.push(action);
  if (action.type === 'advance') await side.clock.advance(action.ms);
  else await perform(side.storage, action);
}

describe('forks of a store', () => {
  test.each(['a', 'b', 'c'])('are equal to stores of their own (%s)', async (seed) => {
    const random = new SeededRandom(seed);
    const sides = [makeSide()];
    for (let step = 0; step < 3000; step++) {
      const side = sides[random.int(sides.length)] as Side;
      const action = random.int(1000);
      if (action < 4 && sides.length < 6)
        sides.push(makeSide({ state: side.storage.freeze(), writes: side.writes }));
      else if (action < 20) await act(side, { type: 'advance', ms: random.int(2000) });
      else await act(side, randomWrite(random, step));
    }
    expect(sides.length).toBeGreaterThan(2);
    for (const side of sides) {
      const alone = makeSide();
      for (const action of side.writes) await act(alone, action);
      expect(await contentOf(side.storage)).toEqual(await contentOf(alone.storage));
    }
  });

  test('a rewound state is what the store was', async () => {
    const random = new SeededRandom('rewind');
    const side = makeSide();
    const pasts: { revision: number; at: number; content: unknown }[] = [];
    for (let step = 0; step < 600; step++) {
      const write = randomWrite(random, step);
      if (write.type !== 'compact') await act(side, write);
      await act(side, { type: 'advance', ms: 1 });
      const revision = await side.storage.currentRevision();
      if (step % 50 === 0 && pasts.at(-1)?.revision !== revision)
        pasts.push({ revision, at: side.clock.now() - 1, content: await contentOf(side.storage) });
    }
    for (const { revision, at, content } of pasts) {
      const state = rewind(side.storage.freeze(), revision);
      const past = makeSide({ state, writes: [] });
      expect(await contentOf(past.storage)).toEqual(content);
      expect(state.now).toBeLessThanOrEqual(at);
      expect(state.now).toBeGreaterThan(at - 20);
      await past.storage.create('/r/other', Buffer.from('x'));
    }
    expect(() => rewind(side.storage.freeze(), 1e6)).toThrow('has not been reached');
    await side.storage.compact(100);
    expect(() => rewind(side.storage.freeze(), 50)).toThrow('has been compacted');
  });

  test('do not touch what they share', async () => {
    const { storage } = makeSide();
    for (let n = 0; n < 2000; n++) await storage.create(`/r/${n % 7}/k${n}`, Buffer.from(`${n}`));
    const state = storage.freeze();
    const before = await contentOf(makeSide({ state, writes: [] }).storage);
    for (let round = 0; round < 3; round++) {
      const fork = makeSide({ state, writes: [] });
      for (let n = round; n < 2000; n += 3)
        await perform(
          fork.storage,
          n % 2 === 0
            ? { type: 'delete', key: `/r/${n % 7}/k${n}` }
            : { type: 'put', key: `/r/${n % 7}/k${n}`, text: `round ${round}` },
        );
      await fork.storage.compact(await fork.storage.currentRevision());
    }
    expect(await contentOf(makeSide({ state, writes: [] }).storage)).toEqual(before);
    expect(await contentOf(storage)).toEqual(before);
  });

  test('a closed store has no state', async () => {
    const { storage } = makeSide();
    await storage.close();
    expect(() => storage.freeze()).toThrow('closed');
  });
});
