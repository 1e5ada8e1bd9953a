// Lists as sets: sets.contains, sets.intersects, sets.equivalent.

import { sizeOf } from '../cost.ts';
import { global, type CallCost, type Library } from '../declarations.ts';
import { equals } from '../equality.ts';
import { BOOL, list, parameter } from '../types.ts';
import { listItems, type ListValue, type Value } from '../values.ts';

type List = readonly unknown[] | ListValue;

const T = parameter('T');

const has = (items: readonly Value[], item: Value): boolean =>
  items.some((other) => equals(other, item));

function contains(set: List, subset: List): boolean {
  const items = listItems(set);
  return listItems(subset).every((item) => has(items, item));
}

function intersects(a: List, b: List): boolean {
  const items = listItems(b);
  return listItems(a).some((item) => has(items, item));
}

/** Returns the cost of comparing each item of one list with each of the other. */
const product =
  (factor: number): CallCost =>
  (args) =>
    1 + sizeOf(args[0]) * sizeOf(args[1]) * factor;

export const setLibrary: Library = {
  name: 'sets',
  functions: {
    'sets.contains': [
      global('list_sets_contains_list', [list(T), list(T)], BOOL, contains, product(1)),
    ],
    'sets.intersects': [
      global('list_sets_intersects_list', [list(T), list(T)], BOOL, intersects, product(1)),
    ],
    'sets.equivalent': [
      global(
        'list_sets_equivalent_list',
        [list(T), list(T)],
        BOOL,
        (a: List, b: List) => contains(a, b) && contains(b, a),
        product(2),
      ),
    ],
  },
};
