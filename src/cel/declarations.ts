// Declarations of an environment: functions with their overloads, and libraries of functions.

import type { Macro } from './macros.ts';
import { OPTIONAL, type ObjectType, type Type } from './types.ts';
import { isDyn } from './unify.ts';
import {
  CelObject,
  Double,
  Duration,
  isInt,
  isList,
  isMap,
  listItem,
  listSize,
  mapGet,
  mapKeys,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts';

/**
 * Implements an overload. Gets values of the declared types, the receiver first. Returns a value or
 * throws EvaluationError.
 */
export type Implementation = (...args: never[]) => Value;

/**
 * Returns the cost of a call, in units of about one operation on a scalar. A function with one
 * parameter does not use the result and is called before the call is made, so that calls beyond the
 * limit are not made.
 */
export type CallCost = (args: readonly Value[], result: Value) => number;

export interface Overload {
  /** The ID, unique among all overloads and equal to cel-go's. */
  readonly id: string;
  /** Called as `receiver.name(…)`; the receiver is the first parameter. */
  readonly member: boolean;
  readonly parameters: readonly Type[];
  readonly result: Type;
  readonly call: Implementation;
  /** Default: 1. */
  readonly cost?: CallCost;
  /** Skip the check of argument types at run time. Default: false. */
  readonly unguarded?: boolean;
}

export type Functions = Readonly<Record<string, readonly Overload[]>>;

export interface Library {
  readonly name: string;
  readonly functions?: Functions;
  readonly macros?: readonly Macro[];
  /** Named constants. */
  readonly constants?: Readonly<Record<string, { readonly type: Type; readonly value: Value }>>;
  /** Types that expressions may name. Object types with `construct` may be created by literals. */
  readonly types?: readonly Type[];
  /** Returns the type of a name, for libraries with an unlimited number of types. */
  readonly resolve?: (name: string) => ObjectType | undefined;
  /** Lets the parser accept `?.`, `[?` and `{?`. */
  readonly optionalSyntax?: boolean;
}

/** Declares a function that is called by its name. */
export function global(
  id: string,
  parameters: readonly Type[],
  result: Type,
  call: Implementation,
  cost?: CallCost,
): Overload {
  return { id, member: false, parameters, result, call, ...(cost !== undefined && { cost }) };
}

/**
 * Declares a function that is called on a value; `parameters` begins with the type of that value.
 */
export function member(
  id: string,
  parameters: readonly Type[],
  result: Type,
  call: Implementation,
  cost?: CallCost,
): Overload {
  return { id, member: true, parameters, result, call, ...(cost !== undefined && { cost }) };
}

/** Returns the overload without checks of its arguments at run time. */
export const unguarded = (overload: Overload): Overload => ({ ...overload, unguarded: true });

/**
 * Reports whether a value may be passed as a parameter of the type. Checks only the first item of a
 * list or map.
 */
export function matches(type: Type, value: Value): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'any':
    case 'parameter':
    case 'error':
      return true;
    case 'bool':
      return typeof value === 'boolean';
    case 'int':
      return isInt(value);
    case 'string':
      return typeof value === 'string';
    case 'null':
      return value === null;
    case 'double':
      return value instanceof Double;
    case 'uint':
      return value instanceof Uint;
    case 'bytes':
      return value instanceof Uint8Array;
    case 'timestamp':
      return value instanceof Timestamp;
    case 'duration':
      return value instanceof Duration;
    case 'type':
      return value instanceof TypeValue;
    case 'wrapper':
      return value === null || matches(type.of, value);
    case 'list':
      return (
        isList(value) &&
        (isDyn(type.element) || listSize(value) === 0 || matches(type.element, listItem(value, 0)))
      );
    case 'map': {
      if (!isMap(value)) return false;
      for (const key of mapKeys(value))
        return matches(type.key, key) && matches(type.value, mapGet(value, key));
      return true;
    }
    case 'object':
      return (
        isMap(value) ||
        (value instanceof CelObject &&
          value.type.kind === 'object' &&
          value.type.name === type.name)
      );
    case 'opaque':
      if (type.name === OPTIONAL) return value instanceof Optional;
      return (
        value instanceof CelObject && value.type.kind === 'opaque' && value.type.name === type.name
      );
  }
}
