// Macros over index and value, or key and value: all(i, v, …), transformList, transformMap,
// transformMapEntry.

import { global, type Library } from '../declarations.ts';
import { MAP_INSERT, twoVariableMacros } from '../macros.ts';
import { map, parameter } from '../types.ts';
import { mapGet, mapKeys, type MapValue, type AbstractMap, type Value } from '../values.ts';

const K = parameter('K');
const V = parameter('V');

/** The map is the loop's own accumulator, which has no other reference: it may be modified. */
const insert = (into: MapValue, key: Value, value: Value): MapValue => {
  into.insert(key, value);
  return into;
};

function insertAll(
  into: MapValue,
  entries: Readonly<Record<string, unknown>> | AbstractMap,
): MapValue {
  for (const key of mapKeys(entries)) into.insert(key, mapGet(entries, key));
  return into;
}

export const twoVariableLibrary: Library = {
  name: 'two-variable comprehensions',
  macros: twoVariableMacros,
  functions: {
    [MAP_INSERT]: [
      global('@mapInsert_map_map', [map(K, V), map(K, V)], map(K, V), insertAll),
      global('@mapInsert_map_key_value', [map(K, V), K, V], map(K, V), insert),
    ],
  },
};
