import { expect, test } from 'vitest';

import { runSteps } from '#machinery/turn.ts';
import { groupItems, groupLargeLists, itemElement } from './list-items.ts';
import type { ListShape, MergeType } from './merge-type.ts';

const list = (...keys: string[]): ListShape => ({ keys, items: {} }) as unknown as ListShape;

test.each<[keys: readonly string[], item: unknown, element: unknown]>([
  [['type'], { type: 'A' }, 'k:{"type":"A"}'],
  [['driver', 'share'], { driver: 'd', share: 's' }, 'k:{"driver":"d","share":"s"}'],
  [['driver', 'share'], { driver: 'd' }, 'k:{"driver":"d"}'],
  [
    ['driver', 'share'],
    { other: 1 },
    {
      problem:
        'associative list with keys has an element that omits all key fields ["driver" ' +
        '"share"] (and doesn\'t have default values for any key fields)',
    },
  ],
])('of a list by %j, %j', (keys, item, element) => {
  expect(itemElement(list(...keys), item)).toEqual(element);
});

test('items are grouped by their element', () => {
  const a1 = { type: 'A', n: 1 };
  const a2 = { type: 'A', n: 2 };
  const b = { type: 'B' };
  expect([...groupItems(list('type'), [a1, b, { other: 1 }, a2])]).toEqual([
    ['k:{"type":"A"}', [a1, a2]],
    ['k:{"type":"B"}', [b]],
  ]);
});

test('a large list is grouped in steps, and once', () => {
  const finalizers: ListShape = { atomic: false, keys: [], items: { scalar: 'string' } };
  const type: MergeType = {
    map: {
      atomic: false,
      fields: new Map([
        [
          'finalizers',
          { element: 'f:finalizers', type: { list: finalizers }, keyDefault: undefined },
        ],
      ]),
      values: undefined,
    },
  };
  const items = Array.from({ length: 10_000 }, (_, i) => `f${i}`);
  expect([...groupLargeLists(type, { finalizers: items })]).toHaveLength(3);
  const groups = groupItems(finalizers, items);
  expect(groups).toBe(groupItems(finalizers, items));
  expect(groups).toEqual(groupItems(finalizers, [...items]));
  // Small lists are grouped when they are compared.
  const few = ['a', 'b'];
  runSteps(groupLargeLists(type, { finalizers: few }));
  expect(groupItems(finalizers, few)).not.toBe(groupItems(finalizers, few));
});
