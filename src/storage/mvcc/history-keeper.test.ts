import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { nextTurn } from '#machinery/turn.ts';
import { DEFAULT_HISTORY_LIMITS, HistoryKeeper, historyLimits } from './history-keeper.ts';
import { MvccStore } from './store.ts';

function keeperOf({ revisionsPerTurn }: { readonly revisionsPerTurn?: number }) {
  const store = new MvccStore(1);
  const steps: number[] = [];
  const keeper = new HistoryKeeper({
    ...DEFAULT_HISTORY_LIMITS,
    maxHistoryRevisions: 8,
    clock: new VirtualClock(),
    store,
    compact: (revision) => {
      steps.push(revision - store.compactedRevision);
      store.compact(revision);
    },
    ...(revisionsPerTurn !== undefined && { revisionsPerTurn }),
  });
  const write = (): void => {
    const revision = store.revision + 1;
    const value = new Uint8Array(1);
    const state = { key: '/a/b', value, createRevision: 2, modRevision: revision };
    store.apply('/a/b', state);
  };
  return { store, keeper, steps, write };
}

test('history beyond its limit is forgotten in steps, one in each turn', async () => {
  const { store, keeper, steps, write } = keeperOf({ revisionsPerTurn: 5 });
  for (let i = 0; i < 20; i++) write();
  keeper.written();
  expect(steps).toEqual([5]);
  // Writes in between neither start another compaction nor delay the one that runs.
  write();
  keeper.written();
  expect(steps).toEqual([5]);
  while (steps.length < 3) await nextTurn();
  expect(steps).toEqual([5, 5, 2]);
  expect(store.historyLength).toBe(9);
  keeper.stop();
});

test('without a limit it is one step', () => {
  const { keeper, steps, write } = keeperOf({});
  for (let i = 0; i < 20; i++) write();
  keeper.written();
  expect(steps).toEqual([12]);
  keeper.stop();
});

test('a compaction by a caller in between is not repeated', async () => {
  const { store, keeper, steps, write } = keeperOf({ revisionsPerTurn: 5 });
  for (let i = 0; i < 20; i++) write();
  keeper.written();
  store.compact(store.revision);
  await nextTurn();
  await nextTurn();
  expect(steps).toEqual([5]);
  keeper.stop();
});

test('a store with many keys has a longer history', () => {
  const { store, keeper, steps, write } = keeperOf({});
  for (let i = 0; i < 40; i++) {
    const modRevision = store.revision + 1;
    const state = { value: new Uint8Array(1), createRevision: modRevision, modRevision };
    store.apply(`/a/${i}`, { key: `/a/${i}`, ...state });
  }
  store.compact(store.revision);
  // Half as many revisions as keys, and an eighth more before it is cut.
  for (let i = 0; i < 22; i++) write();
  keeper.written();
  expect(steps).toEqual([]);
  write();
  keeper.written();
  expect(steps).toEqual([3]);
  expect(store.historyLength).toBe(20);
  keeper.stop();
});

test.each([
  [0, 100_000, 64],
  [200_000, 100_000, 64],
  [1_000_000, 500_000, 320],
])('with %i keys the history has at most %i revisions and %i MiB', (keys, revisions, mib) => {
  expect(historyLimits(DEFAULT_HISTORY_LIMITS, keys)).toEqual({
    maxHistoryRevisions: revisions,
    maxHistoryBytes: mib * 2 ** 20,
  });
});

test('after stop nothing more is forgotten', async () => {
  const { store, keeper, steps, write } = keeperOf({ revisionsPerTurn: 5 });
  for (let i = 0; i < 20; i++) write();
  keeper.written();
  keeper.stop();
  await nextTurn();
  await nextTurn();
  expect(steps).toEqual([5]);
  expect(store.historyLength).toBe(15);
});
