import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KeyedHeap } from './heap.ts';

interface Item {
  readonly key: string;
  readonly rank: number;
}

function newHeap(): KeyedHeap<string, Item> {
  return new KeyedHeap({ keyOf: (item) => item.key, less: (a, b) => a.rank < b.rank });
}

function drain(heap: KeyedHeap<string, Item>): number[] {
  const ranks: number[] = [];
  for (let item = heap.pop(); item !== undefined; item = heap.pop()) ranks.push(item.rank);
  return ranks;
}

describe('KeyedHeap', () => {
  test('is empty at first', () => {
    const heap = newHeap();
    expect(heap.size).toBe(0);
    expect(heap.peek()).toBeUndefined();
    expect(heap.pop()).toBeUndefined();
    expect(heap.delete('a')).toBeUndefined();
  });

  test('replaces the item with the same key and reorders it', () => {
    const heap = newHeap();
    for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) heap.put({ key, rank: index });
    heap.put({ key: 'a', rank: 9 });
    heap.put({ key: 'd', rank: -1 });
    expect(heap.size).toBe(4);
    expect(heap.get('a')).toEqual({ key: 'a', rank: 9 });
    expect(drain(heap)).toEqual([-1, 1, 2, 9]);
  });

  test('removes deleted and cleared items', () => {
    const heap = newHeap();
    heap.put({ key: 'a', rank: 1 });
    heap.put({ key: 'b', rank: 2 });
    expect(heap.delete('a')).toEqual({ key: 'a', rank: 1 });
    expect(heap.has('a')).toBe(false);
    expect(heap.values()).toEqual([{ key: 'b', rank: 2 }]);
    heap.clear();
    expect(heap.has('b')).toBe(false);
    expect(heap.size).toBe(0);
  });

  test('agrees with a sorted map after any sequence of operations', () => {
    const operation = fc.record({
      op: fc.constantFrom('put', 'put', 'delete', 'pop'),
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
      rank: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const heap = newHeap();
        const model = new Map<string, number>();
        for (const { op, key, rank } of operations) {
          if (op === 'put') {
            heap.put({ key, rank });
            model.set(key, rank);
          } else if (op === 'delete') {
            expect(heap.delete(key)?.rank).toBe(model.get(key));
            model.delete(key);
          } else {
            const popped = heap.pop();
            expect(popped?.rank).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
            if (popped !== undefined) model.delete(popped.key);
          }
          expect(heap.size).toBe(model.size);
          for (const [name, value] of model) expect(heap.get(name)?.rank).toBe(value);
        }
        expect(drain(heap)).toEqual([...model.values()].sort((a, b) => a - b));
      }),
    );
  });
});
