// The standard library of the language.

import type { Library } from '../declarations.ts';
import { standardMacros } from '../macros.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  list,
  map,
  NULL,
  STRING,
  TIMESTAMP,
  TYPE,
  typeOf,
  UINT,
  type Type,
} from '../types.ts';
import { TypeValue, type Value } from '../values.ts';
import { conversionFunctions } from './conversions.ts';
import { operatorFunctions } from './operators.ts';
import { stringFunctions } from './strings.ts';
import { timeFunctions } from './time.ts';

const TYPE_NAMES: Readonly<Record<string, Type>> = {
  bool: BOOL,
  bytes: BYTES,
  double: DOUBLE,
  int: INT,
  list: list(DYN),
  map: map(DYN, DYN),
  null_type: NULL,
  string: STRING,
  type: TYPE,
  uint: UINT,
  'google.protobuf.Timestamp': TIMESTAMP,
  'google.protobuf.Duration': DURATION,
};

const typeConstants: Readonly<Record<string, { readonly type: Type; readonly value: Value }>> =
  Object.fromEntries(
    Object.entries(TYPE_NAMES).map(([name, type]) => [
      name,
      { type: typeOf(type), value: new TypeValue(name) },
    ]),
  );

/** Returns the standard library. `crossTypeComparisons`: whether `1 < 1.5` is valid. */
export function standardLibrary(crossTypeComparisons: boolean): Library {
  return {
    name: 'standard',
    functions: {
      ...operatorFunctions(crossTypeComparisons),
      ...conversionFunctions,
      ...stringFunctions,
      ...timeFunctions,
    },
    macros: standardMacros,
    constants: typeConstants,
  };
}
