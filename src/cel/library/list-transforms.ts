// Lists derived from lists: slice, flatten, sort, sortBy, reverse, distinct, lists.range.

import { LIST_CREATE, sizeOf } from '../cost.ts';
import {
  global,
  member,
  unguarded,
  type CallCost,
  type Library,
  type Overload,
} from '../declarations.ts';
import { compare, equals } from '../equality.ts';
import { evaluationError, EvaluationError, noSuchOverload } from '../errors.ts';
import { SORT_BY_KEYS, sortMacros } from '../macros.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  list,
  parameter,
  STRING,
  TIMESTAMP,
  typeName,
  UINT,
  type Type,
} from '../types.ts';
import {
  isList,
  listItem,
  listItems,
  listSize,
  runtimeTypeName,
  type ListValue,
  type Value,
} from '../values.ts';

type List = readonly unknown[] | ListValue;

const T = parameter('T');
const COMPARABLE: readonly Type[] = [INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES];

function slice(items: List, start: number, end: number): Value[] {
  const sliceError = (why: string): Error =>
    evaluationError(`cannot slice(${start}, ${end}), ${why}`);
  if (start < 0 || end < 0) throw sliceError('negative indexes not supported');
  if (start > end) throw sliceError('start index must be less than or equal to end index');
  if (listSize(items) < end) throw sliceError(`list is length ${listSize(items)}`);
  return listItems(items).slice(start, end);
}

function flatten(items: List, depth: number): Value[] {
  if (!isList(items)) throw noSuchOverload();
  if (depth < 0) throw evaluationError('level must be non-negative');
  const flat: Value[] = [];
  for (const item of listItems(items)) {
    if (depth === 0 || !isList(item)) flat.push(item);
    else for (const inner of flatten(item, depth - 1)) flat.push(inner);
  }
  return flat;
}

const range = (size: number): number[] =>
  Array.from({ length: Math.max(0, size) }, (_, index) => index);
const reverse = (items: List): Value[] => listItems(items).toReversed();

function distinct(items: List): Value[] {
  const distinctItems: Value[] = [];
  for (const item of listItems(items))
    if (!distinctItems.some((other) => equals(item, other))) distinctItems.push(item);
  return distinctItems;
}

function sortByKeys(items: List, keys: List): List {
  if (!isList(items) || !isList(keys)) throw noSuchOverload();
  const size = listSize(items);
  if (size !== listSize(keys)) {
    const sizes = `${size} and ${listSize(keys)} elements respectively`;
    throw evaluationError(
      `${SORT_BY_KEYS}() expected a list of the same size as the associated keys list, but got ${sizes}`,
    );
  }
  if (size === 0) return items;
  const values = listItems(keys);
  requireComparable(values);
  const order = range(size).sort((a, b) => compare(values[a], values[b]) ?? 0);
  return order.map((index) => listItem(items, index));
}

function requireComparable(values: readonly Value[]): void {
  const [first] = values;
  try {
    compare(first, first);
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    throw evaluationError('list elements must be comparable');
  }
  const type = runtimeTypeName(first);
  if (values.some((value) => runtimeTypeName(value) !== type))
    throw evaluationError('list elements must have the same type');
}

/**
 * Returns the cost of a call that creates a list: the call, the list, and `factor` steps per item.
 */
const allocates = (size: number, factor = 1): number => Math.floor(size * factor) + 1 + LIST_CREATE;

/** Returns the cost of comparing each item with each other. */
function comparesEach(items: List): number {
  if (!isList(items)) return 1;
  const size = listSize(items);
  const first = size === 0 ? undefined : listItem(items, 0);
  return allocates(size * size, typeof first === 'string' || first instanceof Uint8Array ? 2.1 : 2);
}

const bySize: CallCost = (args) => allocates(sizeOf(args[0]));
const ofSort: CallCost = (args) => comparesEach(args[0] as List);
const ofSortBy: CallCost = (args) => comparesEach(args[1] as List);
const ofSlice: CallCost = (args) => allocates(Math.max(0, Number(args[2]) - Number(args[1])));
const ofRange: CallCost = (args) => allocates(Math.max(0, Number(args[0])));
const ofDepth: CallCost = (args) =>
  allocates(sizeOf(args[0]), args.length === 1 ? 1 : Math.max(0, Number(args[1])));

const ofComparable = (make: (type: Type) => Overload): Overload[] =>
  COMPARABLE.map((type) => unguarded(make(type)));

export const listTransformLibrary: Library = {
  name: 'lists',
  macros: sortMacros,
  functions: {
    slice: [member('list_slice', [list(T), INT, INT], list(T), slice, ofSlice)],
    flatten: [
      unguarded(
        member(
          'list_flatten',
          [list(list(T))],
          list(T),
          (items: List) => flatten(items, 1),
          ofDepth,
        ),
      ),
      member('list_flatten_int', [list(DYN), INT], list(DYN), flatten, ofDepth),
    ],
    sort: ofComparable((type) =>
      member(
        `list_${typeName(type)}_sort`,
        [list(type)],
        list(type),
        (items: List) => sortByKeys(items, items),
        ofSort,
      ),
    ),
    [SORT_BY_KEYS]: ofComparable((type) =>
      member(
        `list_${typeName(type)}_sortByAssociatedKeys`,
        [list(T), list(type)],
        list(T),
        sortByKeys,
        ofSortBy,
      ),
    ),
    'lists.range': [global('lists_range', [INT], list(INT), range, ofRange)],
    reverse: [member('list_reverse', [list(T)], list(T), reverse, bySize)],
    distinct: [member('list_distinct', [list(T)], list(T), distinct, ofSort)],
  },
};
