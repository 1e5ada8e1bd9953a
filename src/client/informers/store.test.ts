import { describe, expect, test } from 'vitest';
import { Store, objectKey, splitKey } from './store.ts';

interface Thing {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
  readonly tags: readonly string[];
}

const thing = (key: string, ...tags: string[]): Thing => ({
  metadata: {
    ...splitKey(key),
    uid: `uid-${key}`,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  tags,
});
const names = (things: readonly Thing[]) => things.map((found) => objectKey(found)).sort();

describe('Store', () => {
  test('returns objects by key, namespace and index, through changes and deletions', () => {
    const store = new Store<Thing>({ tag: (object) => object.tags });
    store.put(thing('x/a', 'red', 'big'));
    store.put(thing('x/b', 'red'));
    store.put(thing('y/a', 'big'));
    store.put(thing('c'));
    expect(store.get('x', 'a')?.tags).toEqual(['red', 'big']);
    expect(store.get('', 'c')).toBe(store.getByKey('c'));
    expect(store.get('x', 'c')).toBeUndefined();
    expect(names(store.list())).toEqual(['c', 'x/a', 'x/b', 'y/a']);
    expect(names(store.list('x'))).toEqual(['x/a', 'x/b']);
    expect(names(store.byIndex('tag', 'big'))).toEqual(['x/a', 'y/a']);
    store.put(thing('x/a', 'red', 'small'));
    expect(names(store.byIndex('tag', 'big'))).toEqual(['y/a']);
    expect(names(store.byIndex('tag', 'small'))).toEqual(['x/a']);
    expect(store.byIndex('tag', 'red').find((found) => found.metadata.name === 'a')?.tags).toEqual([
      'red',
      'small',
    ]);
    expect(store.delete('x/a')?.tags).toEqual(['red', 'small']);
    expect(store.delete('x/a')).toBeUndefined();
    expect(names(store.byIndex('tag', 'red'))).toEqual(['x/b']);
    expect(store.byIndex('tag', 'small')).toEqual([]);
    expect(store.size).toBe(3);
  });

  test('indexes existing objects when an indexer is added later', () => {
    const store = new Store<Thing>();
    store.put(thing('x/a', 'red'));
    const tag = (object: Thing) => object.tags;
    store.addIndexers({ tag });
    store.addIndexers({ tag });
    expect(names(store.byIndex('tag', 'red'))).toEqual(['x/a']);
    expect(() => store.addIndexers({ tag: () => [] })).toThrow(/exists/);
    expect(() => store.byIndex('nothing', 'red')).toThrow(/does not exist/);
  });

  test('uses the keys of work queues', () => {
    expect(objectKey(thing('x/a'))).toBe('x/a');
    expect(objectKey(thing('a'))).toBe('a');
    expect(splitKey('x/a')).toEqual({ namespace: 'x', name: 'a' });
    expect(splitKey('a')).toEqual({ namespace: '', name: 'a' });
  });
});
