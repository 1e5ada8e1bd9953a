// The past of a directory stays readable when the history of others is forgotten. A store whose
// history is never forgotten says what must be read.

import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { StorageError } from '../interface.ts';
import { createMemoryStorage } from '../memory/index.ts';
import { keyOf, MvccStore } from './store.ts';

const PREFIXES = ['/', '/a/', '/a/b/', '/a/c/', '/d/', '/d/e/'];
/** These are never deleted, since a new directory may not know its past. */
const KEPT = ['/a/b/0', '/a/c/0', '/d/0', '/d/e/0'];
const KEYS = ['/a/b/1', '/a/b/2', '/a/c/1', '/a/c/2', '/d/1', '/d/2', '/d/e/1'];

/** Returns the result, or the reason of the StorageError. */
function outcome<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof StorageError) return error.reason;
    throw error;
  }
}

test.each(['a', 'b', 'c'])(
  'reads are right, or Expired only where events are forgotten (%s)',
  (seed) => {
    const random = new SeededRandom(seed);
    const truth = new MvccStore(1);
    let store = new MvccStore(1);
    let expired = 1;
    const write = (key: string): void => {
      const isDeleted = !KEPT.includes(key) && truth.get(key) !== undefined && random.int(4) === 0;
      const modRevision = truth.revision + 1;
      const kv = isDeleted
        ? undefined
        : { key, value: new Uint8Array(1), createRevision: modRevision, modRevision };
      truth.apply(key, kv);
      store.apply(key, kv);
    };
    const hasForgottenEvent = (prefix: string, revision: number): boolean =>
      truth
        .eventsAfter(revision, prefix)
        .some((event) => event.revision <= store.compactedRevision);
    let readBeforeCompaction = 0;
    const check = (prefix: string, revision: number): void => {
      const list = outcome(() => store.list(prefix, { revision, limit: 2 }));
      const events = outcome(() => store.eventsAfter(revision, prefix));
      if (list === 'Expired') {
        expect(events).toBe('Expired');
        const isKnown = prefix === '/' || truth.count(prefix) > 0;
        if (isKnown && revision >= expired) expect(hasForgottenEvent(prefix, revision)).toBe(true);
        return;
      }
      if (revision < store.compactedRevision) readBeforeCompaction++;
      expect(revision).toBeGreaterThanOrEqual(expired);
      expect(list).toEqual(truth.list(prefix, { revision, limit: 2 }));
      expect(events).toEqual(truth.eventsAfter(revision, prefix));
      for (const key of KEYS.filter((each) => each.startsWith(prefix)))
        expect(store.getAt(key, revision)).toEqual(truth.getAt(key, revision));
    };
    for (const key of KEPT) write(key);
    for (let round = 0; round < 60; round++) {
      // Most rounds write few directories.
      const written = PREFIXES[random.int(PREFIXES.length)]!;
      const keys = KEYS.filter((key) => key.startsWith(written));
      for (let i = 0; i < 12; i++) write(keys[random.int(keys.length)]!);
      const span = store.revision - store.compactedRevision;
      if (random.int(8) === 0) expired = store.revision - random.int(span + 1);
      store.compact(store.revision - random.int(span), expired);
      expired = Math.min(expired, store.compactedRevision);
      if (random.int(10) === 0) store = store.fork();
      for (let i = 0; i < 40; i++)
        check(PREFIXES[random.int(PREFIXES.length)]!, 1 + random.int(store.revision));
    }
    expect(readBeforeCompaction).toBeGreaterThan(50);
    const last = truth.eventsAfter(truth.revision - 1, '/')[0]!;
    expect(store.eventsAfter(truth.revision - 1, '/').map(keyOf)).toEqual([keyOf(last)]);
  },
);

test('a flood of large values ends no watch and no list of another directory', async () => {
  const clock = new VirtualClock();
  const storage = createMemoryStorage({ clock, logger: silentLogger, maxHistoryBytes: 1e6 });
  for (const name of ['1', '2', '3']) await storage.create(`/quiet/${name}`, new Uint8Array(1));
  const begin = await storage.currentRevision();
  const flood = async (): Promise<void> => {
    for (let i = 0; i < 100; i++)
      await storage.guaranteedUpdate('/large/a', () => ({
        action: 'put',
        value: new Uint8Array(100_000),
      }));
  };
  await flood();
  const read = (prefix: string): Promise<unknown> =>
    storage.list(prefix, { revision: begin, limit: 2 }).then(
      ({ items, remaining }) => [items.map(({ key }) => key), remaining],
      (error: StorageError) => error.reason,
    );
  expect(await read('/large/')).toBe('Expired');
  expect(await read('/quiet/')).toEqual([['/quiet/1', '/quiet/2'], 1]);
  const watch = storage.watch('/quiet/', { afterRevision: begin });
  await storage.delete('/quiet/2');
  for await (const event of watch) {
    expect(event).toMatchObject({ type: 'delete', key: '/quiet/2' });
    break;
  }
  // After its time, history is gone everywhere.
  await clock.advance('10m');
  expect(await read('/quiet/')).toBe('Expired');
  await storage.close();
});
