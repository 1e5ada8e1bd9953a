// Lists: isSorted, sum, min, max, indexOf, lastIndexOf.

import { addInts, doubles, times, uints } from '../arithmetic.ts';
import { traversesDeeply } from '../cost.ts';
import { member, type Library, type Overload } from '../declarations.ts';
import { compare, equals } from '../equality.ts';
import { evaluationError } from '../errors.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  list,
  parameter,
  STRING,
  TIMESTAMP,
  UINT,
  type Type,
} from '../types.ts';
import {
  Double,
  Duration,
  listItem,
  listItems,
  listSize,
  Uint,
  type ListValue,
  type Value,
} from '../values.ts';

type List = readonly unknown[] | ListValue;

const A = parameter('A');

const SUMMABLE: readonly [string, Type, Value, (a: never, b: never) => Value][] = [
  ['int', INT, 0, addInts],
  ['uint', UINT, new Uint(0n), uints.add],
  ['double', DOUBLE, new Double(0), doubles.add],
  ['duration', DURATION, new Duration(0n), times.addDurations],
];

const COMPARABLE: readonly [string, Type][] = [
  ['int', INT],
  ['uint', UINT],
  ['double', DOUBLE],
  ['bool', BOOL],
  ['duration', DURATION],
  ['timestamp', TIMESTAMP],
  ['string', STRING],
  ['bytes', BYTES],
];

function isSorted(items: List): boolean {
  const values = listItems(items);
  return values.every((value, index) => index === 0 || compare(values[index - 1], value) !== 1);
}

/** Returns min or max. `better`: the order of the best item so far to a better one. */
function extreme(name: string, better: -1 | 1): (items: List) => Value {
  return (items) => {
    const values = listItems(items);
    if (values.length === 0) throw evaluationError(`${name} called on empty list`);
    return values.reduce((best, next) => (compare(best, next) === better ? next : best));
  };
}

const sum =
  (zero: Value, add: (a: never, b: never) => Value) =>
  (items: List): Value =>
    listItems(items).reduce((total, item) => add(total as never, item as never), zero);

function indexOf(items: List, item: Value): number {
  for (let index = 0; index < listSize(items); index++)
    if (equals(listItem(items, index), item)) return index;
  return -1;
}

function lastIndexOf(items: List, item: Value): number {
  for (let index = listSize(items) - 1; index >= 0; index--)
    if (equals(listItem(items, index), item)) return index;
  return -1;
}

const ofComparable = (make: (name: string, type: Type) => Overload): Overload[] =>
  COMPARABLE.map(([name, type]) => make(name, type));

export const listLibrary: Library = {
  name: 'kubernetes.lists',
  functions: {
    isSorted: ofComparable((name, type) =>
      member(`list_${name}_is_sorted_bool`, [list(type)], BOOL, isSorted, traversesDeeply),
    ),
    sum: SUMMABLE.map(([name, type, zero, add]) =>
      member(`list_${name}_sum_${name}`, [list(type)], type, sum(zero, add), traversesDeeply),
    ),
    min: ofComparable((name, type) =>
      member(`list_${name}_min_${name}`, [list(type)], type, extreme('min', 1), traversesDeeply),
    ),
    max: ofComparable((name, type) =>
      member(`list_${name}_max_${name}`, [list(type)], type, extreme('max', -1), traversesDeeply),
    ),
    indexOf: [member('list_a_index_of_int', [list(A), A], INT, indexOf, traversesDeeply)],
    lastIndexOf: [
      member('list_a_last_index_of_int', [list(A), A], INT, lastIndexOf, traversesDeeply),
    ],
  },
};
