// Optional values: optional.of(x), x.?field, x[?index], orValue, optMap …

import { member, global, type Library } from '../declarations.ts';
import { optionalMacros } from '../macros.ts';
import { byPlanner } from '../standard/operators.ts';
import { BOOL, DYN, INT, list, map, optional, OPTIONAL, parameter, typeOf } from '../types.ts';
import {
  CelObject,
  Double,
  Duration,
  isList,
  isMap,
  listItem,
  listItems,
  listSize,
  mapSize,
  Optional,
  TypeValue,
  Uint,
  type ListValue,
  type Value,
} from '../values.ts';

const T = parameter('T');
const K = parameter('K');
const V = parameter('V');

/** Reports whether a value is the zero value of its type: 0, '', false, null, empty. */
export function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0 || value === '') return true;
  if (typeof value !== 'object') return false;
  if (isList(value)) return listSize(value) === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Double) return value.value === 0;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanoseconds === 0n;
  if (value instanceof Optional) return !value.hasValue;
  if (isMap(value)) return mapSize(value) === 0;
  return !(value instanceof CelObject);
}

const of = (value: Value): Optional => new Optional(value);

type List = readonly unknown[] | ListValue;

const itemOf = (items: List, index: number): Optional =>
  index >= 0 && index < listSize(items) ? of(listItem(items, index)) : Optional.none;

/** Returns the values of the items that have one. */
function unwrap(items: List): Value[] {
  return listItems(items).flatMap((item) =>
    item instanceof Optional ? (item.hasValue ? [item.value()] : []) : [item],
  );
}

export const optionalLibrary: Library = {
  name: 'optional',
  optionalSyntax: true,
  macros: optionalMacros,
  constants: { [OPTIONAL]: { type: typeOf(optional(DYN)), value: new TypeValue(OPTIONAL) } },
  functions: {
    'optional.of': [global('optional_of', [T], optional(T), of)],
    'optional.ofNonZeroValue': [
      global('optional_ofNonZeroValue', [T], optional(T), (value: Value) =>
        isZero(value) ? Optional.none : of(value),
      ),
    ],
    'optional.none': [global('optional_none', [], optional(T), () => Optional.none)],
    'optional.unwrap': [global('optional_unwrap', [list(optional(T))], list(T), unwrap)],
    unwrapOpt: [member('optional_unwrapOpt', [list(optional(T))], list(T), unwrap)],
    first: [member('list_first', [list(T)], optional(T), (items: List) => itemOf(items, 0))],
    last: [
      member('list_last', [list(T)], optional(T), (items: List) =>
        itemOf(items, listSize(items) - 1),
      ),
    ],
    value: [member('optional_value', [optional(T)], T, (it: Optional) => it.value())],
    hasValue: [member('optional_hasValue', [optional(T)], BOOL, (it: Optional) => it.hasValue)],
    or: [
      member(
        'optional_or_optional',
        [optional(T), optional(T)],
        optional(T),
        (it: Optional, other: Optional) => (it.hasValue ? it : other),
      ),
    ],
    orValue: [
      member('optional_orValue_value', [optional(T), T], T, (it: Optional, other: Value) =>
        it.hasValue ? it.value() : other,
      ),
    ],
    // Declared for the checker.
    '_[?_]': [
      global('list_optindex_optional_int', [list(V), INT], optional(V), byPlanner),
      global(
        'optional_list_optindex_optional_int',
        [optional(list(V)), INT],
        optional(V),
        byPlanner,
      ),
      global('map_optindex_optional_value', [map(K, V), K], optional(V), byPlanner),
      global(
        'optional_map_optindex_optional_value',
        [optional(map(K, V)), K],
        optional(V),
        byPlanner,
      ),
    ],
    '_[_]': [
      global('optional_list_index_int', [optional(list(V)), INT], optional(V), byPlanner),
      global('optional_map_index_value', [optional(map(K, V)), K], optional(V), byPlanner),
    ],
  },
};
