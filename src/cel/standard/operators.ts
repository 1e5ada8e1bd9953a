// The operators, as functions. The planner implements those that decide which operands are
// evaluated (&&, ||, ?:), and == and !=, which accept any values.

import {
  addInts,
  divideInts,
  doubles,
  moduloInts,
  multiplyInts,
  negateInt,
  subtractInts,
  times,
  toIndex,
  uints,
} from '../arithmetic.ts';
import { operators } from '../ast.ts';
import { concatenate } from '../concat-list.ts';
import { comparesTwo, sizeOf, traversal } from '../cost.ts';
import { global, member, type Functions, type Overload } from '../declarations.ts';
import { compare, equals } from '../equality.ts';
import { evaluationError, noSuchKey, noSuchOverload } from '../errors.ts';
import { unite } from '../set-lists.ts';
import { codePointLength } from '../text.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  list,
  map,
  parameter,
  STRING,
  TIMESTAMP,
  UINT,
  type Type,
} from '../types.ts';
import {
  describeKey,
  isMap,
  listItem,
  listSize,
  mapGet,
  mapSize,
  AbstractMap,
  ListValue,
  type Value,
} from '../values.ts';

const A = parameter('A');
const B = parameter('B');
type List = readonly unknown[] | ListValue;
type Mapping = Readonly<Record<string, unknown>> | AbstractMap;

/**
 * The implementation of functions that the planner replaces: they are declared for the checker
 * only.
 */
export const byPlanner = (): never => {
  throw noSuchOverload();
};

const ORDERED: readonly [string, Type][] = [
  ['bool', BOOL],
  ['int64', INT],
  ['uint64', UINT],
  ['double', DOUBLE],
  ['string', STRING],
  ['bytes', BYTES],
  ['timestamp', TIMESTAMP],
  ['duration', DURATION],
];
const NUMERIC = ORDERED.slice(1, 4);

/**
 * Returns the overloads of a comparison. `crossTypes`: also for numbers of different types. (Values
 * of dynamic types compare in any case.)
 */
function ordering(
  name: string,
  crossTypes: boolean,
  holds: (order: -1 | 0 | 1) => boolean,
): Overload[] {
  const call = (a: Value, b: Value): boolean => {
    const order = compare(a, b);
    return order !== undefined && holds(order);
  };
  const overloads = ORDERED.map(([id, type]) => {
    const isText = type === STRING || type === BYTES;
    return global(`${name}_${id}`, [type, type], BOOL, call, isText ? comparesTwo : undefined);
  });
  if (!crossTypes) return overloads;
  for (const [idA, a] of NUMERIC) {
    for (const [idB, b] of NUMERIC)
      if (a !== b) overloads.push(global(`${name}_${idA}_${idB}`, [a, b], BOOL, call));
  }
  return overloads;
}

const addLists = (a: List, b: List): Value =>
  a instanceof ListValue && a.setBy !== undefined ? unite(a, b, equals) : concatenate(a, b);

function addBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  const sum = new Uint8Array(a.length + b.length);
  sum.set(a);
  sum.set(b, a.length);
  return sum;
}

const joinsTwo = (args: readonly Value[]): number => traversal(sizeOf(args[0]) + sizeOf(args[1]));

function itemAt(list: List, index: Value): Value {
  const at = toIndex(index);
  if (at < 0 || at >= listSize(list)) throw evaluationError(`index out of bounds: ${at}`);
  return listItem(list, Number(at));
}

export function valueAt(map: Mapping, key: Value): Value {
  const value = mapGet(map, key);
  if (value === undefined) throw noSuchKey(describeKey(key));
  return value;
}

/** Returns `operand[index]` for an operand of any type. */
export function indexInto(operand: Value, index: Value): Value {
  if (Array.isArray(operand)) return itemAt(operand, index);
  if (isMap(operand)) return valueAt(operand, index);
  if (typeof operand === 'object' && operand !== null && 'at' in operand)
    return itemAt(operand as ListValue, index);
  throw noSuchOverload();
}

function listContains(item: Value, list: List): boolean {
  const size = listSize(list);
  for (let index = 0; index < size; index++) if (equals(item, listItem(list, index))) return true;
  return false;
}

const mapContains = (key: Value, map: Mapping): boolean =>
  map instanceof AbstractMap ? map.has(key) : mapGet(map, key) !== undefined;

const sizes: readonly [string, Type, (value: never) => number][] = [
  ['string', STRING, (text: string) => codePointLength(text)],
  ['bytes', BYTES, (bytes: Uint8Array) => bytes.length],
  ['list', list(A), listSize],
  ['map', map(A, B), mapSize],
];

export function operatorFunctions(crossTypes: boolean): Functions {
  return {
    [operators.conditional]: [global('conditional', [BOOL, A, A], A, byPlanner)],
    [operators.and]: [global('logical_and', [BOOL, BOOL], BOOL, byPlanner)],
    [operators.or]: [global('logical_or', [BOOL, BOOL], BOOL, byPlanner)],
    [operators.not]: [global('logical_not', [BOOL], BOOL, (value: boolean) => !value)],
    [operators.notStrictlyFalse]: [global('not_strictly_false', [BOOL], BOOL, byPlanner)],
    [operators.equals]: [global('equals', [A, A], BOOL, equals)],
    [operators.notEquals]: [
      global('not_equals', [A, A], BOOL, (a: Value, b: Value) => !equals(a, b)),
    ],
    [operators.less]: ordering('less', crossTypes, (order) => order < 0),
    [operators.lessEquals]: ordering('less_equals', crossTypes, (order) => order <= 0),
    [operators.greater]: ordering('greater', crossTypes, (order) => order > 0),
    [operators.greaterEquals]: ordering('greater_equals', crossTypes, (order) => order >= 0),
    [operators.add]: [
      global('add_bytes', [BYTES, BYTES], BYTES, addBytes, joinsTwo),
      global('add_double', [DOUBLE, DOUBLE], DOUBLE, doubles.add),
      global('add_duration_duration', [DURATION, DURATION], DURATION, times.addDurations),
      global('add_duration_timestamp', [DURATION, TIMESTAMP], TIMESTAMP, (a: never, b: never) =>
        times.addDuration(b, a),
      ),
      global('add_timestamp_duration', [TIMESTAMP, DURATION], TIMESTAMP, times.addDuration),
      global('add_int64', [INT, INT], INT, addInts),
      global('add_list', [list(A), list(A)], list(A), addLists),
      global('add_string', [STRING, STRING], STRING, (a: string, b: string) => a + b, joinsTwo),
      global('add_uint64', [UINT, UINT], UINT, uints.add),
    ],
    [operators.subtract]: [
      global('subtract_double', [DOUBLE, DOUBLE], DOUBLE, doubles.subtract),
      global('subtract_duration_duration', [DURATION, DURATION], DURATION, times.subtractDurations),
      global('subtract_int64', [INT, INT], INT, subtractInts),
      global(
        'subtract_timestamp_duration',
        [TIMESTAMP, DURATION],
        TIMESTAMP,
        times.subtractDuration,
      ),
      global('subtract_timestamp_timestamp', [TIMESTAMP, TIMESTAMP], DURATION, times.between),
      global('subtract_uint64', [UINT, UINT], UINT, uints.subtract),
    ],
    [operators.multiply]: [
      global('multiply_double', [DOUBLE, DOUBLE], DOUBLE, doubles.multiply),
      global('multiply_int64', [INT, INT], INT, multiplyInts),
      global('multiply_uint64', [UINT, UINT], UINT, uints.multiply),
    ],
    [operators.divide]: [
      global('divide_double', [DOUBLE, DOUBLE], DOUBLE, doubles.divide),
      global('divide_int64', [INT, INT], INT, divideInts),
      global('divide_uint64', [UINT, UINT], UINT, uints.divide),
    ],
    [operators.modulo]: [
      global('modulo_int64', [INT, INT], INT, moduloInts),
      global('modulo_uint64', [UINT, UINT], UINT, uints.modulo),
    ],
    [operators.negate]: [
      global('negate_double', [DOUBLE], DOUBLE, doubles.negate),
      global('negate_int64', [INT], INT, negateInt),
    ],
    [operators.index]: [
      global('index_list', [list(A), INT], A, itemAt),
      global('index_map', [map(A, B), A], B, valueAt),
    ],
    [operators.in]: [
      global('in_list', [A, list(A)], BOOL, listContains, (args) => sizeOf(args[1])),
      global('in_map', [A, map(A, B)], BOOL, mapContains),
    ],
    size: [
      ...sizes.map(([id, type, call]) => global(`size_${id}`, [type], INT, call)),
      ...sizes.map(([id, type, call]) => member(`${id}_size`, [type], INT, call)),
    ],
  };
}
