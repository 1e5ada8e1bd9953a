import { expect, test } from 'vitest';

import { itemElement } from './list-items.ts';
import type { ListShape } from './merge-type.ts';

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
