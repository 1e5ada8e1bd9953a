import { expect, test } from 'vitest';
import type { KeyValue } from '../interface.ts';
import { SimilarValues } from '../packing/index.ts';
import { MvccStore } from './store.ts';

/** Returns the value of a pod of a template, at a number of its changes. */
function valueOf(name: string, changes: number): Buffer {
  const labels = Array.from({ length: 100 }, (_, i) => [`label-${i}`, `value-${i}`]);
  return Buffer.from(JSON.stringify({ name, labels: Object.fromEntries(labels), changes }));
}

const isPacked = (kv: KeyValue | undefined): boolean =>
  kv !== undefined && 'isPacked' in kv && kv.isPacked === true;

/** A store in which each of ten pods was written three times, in revisions 2 to 31. */
function filled(): MvccStore {
  const store = new MvccStore(1, new SimilarValues());
  for (let revision = 2; revision <= 31; revision++) {
    const key = `/pods/pod-${revision % 10}`;
    const value = valueOf(key, Math.floor((revision - 2) / 10));
    const createRevision = 2 + (revision % 10);
    store.apply(key, store.hold({ key, value, createRevision, modRevision: revision }));
  }
  return store;
}

const texts = (items: readonly KeyValue[]): string[] =>
  items.map(({ value }) => Buffer.from(value).toString());

test('the latest values are packed when history ends after them', () => {
  const store = filled();
  const before = texts(store.list('/pods/').items);
  const earlier = texts(store.list('/pods/', { revision: 25 }).items);
  store.compact(24);
  // Three of them are no history any more; the first one is the model of all.
  expect(store.under('/pods/').filter(isPacked)).toHaveLength(2);
  expect(texts(store.list('/pods/', { revision: 25 }).items)).toEqual(earlier);
  store.compact(31);
  expect(store.under('/pods/').filter(isPacked)).toHaveLength(9);
  expect(texts(store.list('/pods/').items)).toEqual(before);
});

test('a packed value that is written again is history, and readable', () => {
  const store = filled();
  store.compact(31);
  const key = '/pods/pod-5';
  const before = store.get(key)!;
  expect(isPacked(before)).toBe(true);
  store.apply(key, { ...before, value: valueOf(key, 99), modRevision: 32 });
  expect(texts([store.getAt(key, 31)!])).toEqual(texts([before]));
  expect(store.historyBytes).toBe(before.value.length);
  store.compact(32);
  expect(store.historyBytes).toBe(0);
  expect(texts([store.get(key)!])).toEqual([valueOf(key, 99).toString()]);
});

test('values are packed when many writes have followed, and history is as before', () => {
  const store = new MvccStore(1, new SimilarValues());
  const key = '/pods/pod-1';
  const writes = 1100;
  for (let revision = 2; revision < 2 + writes; revision++) {
    const value = valueOf(key, revision);
    store.apply(key, store.hold({ key, value, createRevision: 2, modRevision: revision }));
    store.settle();
  }
  const states = Array.from({ length: writes }, (_, i) => store.getAt(key, i + 2)!);
  // The first one is the model of the others.
  expect(states.map(isPacked)).toEqual(states.map((_, i) => i > 0 && i < writes - 1024));
  expect(texts(states)).toEqual(states.map((_, i) => valueOf(key, i + 2).toString()));
  const [event] = store.eventsAfter(20, '/pods/');
  expect(event).toMatchObject({ type: 'put', kv: states[19], previous: states[18] });
});

test('a fork reads the values that the store packs later', () => {
  const store = filled();
  const fork = store.fork();
  const before = texts(fork.under('/pods/'));
  store.compact(31);
  expect(fork.under('/pods/').filter(isPacked)).toHaveLength(9);
  expect(texts(fork.under('/pods/'))).toEqual(before);
});

test.each([
  [0, 9],
  [5 * valueOf('/pods/pod-2', 0).length, 4],
])('beyond %i bytes, values are packed as they are restored', (plainBytes, packed) => {
  const store = new MvccStore(50, new SimilarValues(plainBytes));
  for (let revision = 2; revision < 12; revision++) {
    const key = `/pods/pod-${revision}`;
    const kv = { key, value: valueOf(key, 0), createRevision: revision, modRevision: revision };
    store.restore(key, revision, kv);
  }
  expect(store.under('/pods/').filter(isPacked)).toHaveLength(packed);
  expect(texts([store.get('/pods/pod-7')!])).toEqual([valueOf('/pods/pod-7', 0).toString()]);
});
