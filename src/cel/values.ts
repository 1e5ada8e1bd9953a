// Values at run time. Values that JSON has are themselves: null, booleans, strings, lists as
// arrays, maps with text keys and structs as plain objects, so that API objects are values without
// conversion. The others are:
//
// - int: a JS number that is a safe integer, beyond 2^53 a bigint. Never a number with a fraction,
//   never -0.
// - double: a `Double`, so that 1.0 differs from 1. A raw number with a fraction in an object is
//   converted when it is read.
// - uint: a `Uint`. bytes: a Uint8Array. timestamp, duration, optional, type: the classes below.
// - maps that an expression creates: a `MapValue`. Computed lists and maps: subclasses of
//   `ListValue`, `AbstractMap`.
// - values of libraries (quantities, addresses, authorizers): a subclass of `OpaqueValue`.

import { evaluationError, noSuchOverload } from './errors.ts';
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
  opaque,
  OPTIONAL,
  STRING,
  TIMESTAMP,
  TYPE,
  typeName,
  UINT,
  type Type,
} from './types.ts';

/** A value as described above; a name for readers, without effect on type checks. */
export type Value = unknown;

const MAX_INT = (1n << 63n) - 1n;
const MIN_INT = -(1n << 63n);
const MAX_UINT = (1n << 64n) - 1n;

/** Returns an int of 64 bits in its unique form. Throws EvaluationError if it needs more bits. */
export function normalizeInt(value: bigint): number | bigint {
  if (value >= -9007199254740991n && value <= 9007199254740991n) return Number(value);
  if (value > MAX_INT || value < MIN_INT) throw evaluationError('integer overflow');
  return value;
}

export const isInt = (value: Value): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

/** The base class of values that JSON does not have. */
export abstract class CelObject {
  abstract readonly type: Type;
}

export class Double extends CelObject {
  readonly value: number;

  constructor(value: number) {
    super();
    this.value = value;
  }

  get type(): Type {
    return DOUBLE;
  }
}

export class Uint extends CelObject {
  readonly value: bigint;

  constructor(value: bigint) {
    super();
    this.value = value;
  }

  get type(): Type {
    return UINT;
  }

  /** Returns a uint. Throws EvaluationError if the value does not fit 64 bits. */
  static checked(value: bigint): Uint {
    if (value < 0n || value > MAX_UINT) throw evaluationError('unsigned integer overflow');
    return new Uint(value);
  }
}

export class Duration extends CelObject {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    super();
    this.nanoseconds = nanoseconds;
  }

  get type(): Type {
    return DURATION;
  }

  static checked(nanoseconds: bigint): Duration {
    if (nanoseconds > MAX_INT || nanoseconds < MIN_INT) throw evaluationError('integer overflow');
    return new Duration(nanoseconds);
  }
}

/** 0001-01-01T00:00:00Z, and the last nanosecond of the year 9999. */
const MIN_TIME = -62135596800n * 1_000_000_000n;
const MAX_TIME = 253402300800n * 1_000_000_000n - 1n;

export class Timestamp extends CelObject {
  /** Nanoseconds since 1970-01-01T00:00:00Z. */
  readonly nanoseconds: bigint;
  /** Minutes east of UTC for its text. It has no other effect. */
  readonly offset: number;

  constructor(nanoseconds: bigint, offset = 0) {
    super();
    this.nanoseconds = nanoseconds;
    this.offset = offset;
  }

  get type(): Type {
    return TIMESTAMP;
  }

  static checked(nanoseconds: bigint, offset = 0): Timestamp {
    if (nanoseconds < MIN_TIME || nanoseconds > MAX_TIME)
      throw evaluationError('timestamp overflow');
    return new Timestamp(nanoseconds, offset);
  }
}

/** A type as a value: the result of `type(x)`, and the value of the name `int`. */
export class TypeValue extends CelObject {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }

  get type(): Type {
    return TYPE;
  }
}

export class Optional extends CelObject {
  static readonly none = new Optional(undefined, false);
  readonly #value: Value;
  readonly hasValue: boolean;

  constructor(value: Value, hasValue = true) {
    super();
    this.#value = value;
    this.hasValue = hasValue;
  }

  get type(): Type {
    return opaque(OPTIONAL, DYN);
  }

  /** Returns an optional whose value cannot be read. */
  static failing(error: Error): Optional {
    return new FailingOptional(error);
  }

  /** Returns the value. Throws EvaluationError if there is none. */
  value(): Value {
    if (!this.hasValue) throw evaluationError('optional.none() dereference');
    return this.#value;
  }
}

class FailingOptional extends Optional {
  readonly #error: Error;

  constructor(error: Error) {
    super(undefined);
    this.#error = error;
  }

  override value(): Value {
    throw this.#error;
  }
}

/** A value of a library. */
export abstract class OpaqueValue extends CelObject {
  /** Compares with a value of the same class. */
  abstract equals(other: this): boolean;
  /** Returns the size for cost calculations. Default: 1. */
  size?(): number;
}

/** A list that is not an array: its items are converted on access. */
export abstract class ListValue extends CelObject {
  /**
   * Present for a set: the order does not matter, and items with equal values of these fields are
   * the same. []: equal items are the same.
   */
  readonly setBy?: readonly string[];
  abstract readonly size: number;
  abstract at(index: number): Value;

  get type(): Type {
    return list(DYN);
  }
}

/** A map that is not a plain object, or whose values are converted on access. */
export abstract class AbstractMap extends CelObject {
  abstract readonly size: number;
  /** Returns the value; undefined if there is no such key. Equal numbers are the same key. */
  abstract get(key: Value): Value;
  abstract keys(): Iterable<Value>;

  get type(): Type {
    return map(DYN, DYN);
  }

  has(key: Value): boolean {
    return this.get(key) !== undefined;
  }

  /**
   * Compares with another map. Absent: maps are equal if they have the same keys with equal values.
   */
  isEqualTo?(other: AbstractMap, equal: (a: Value, b: Value) => boolean): boolean;
}

/**
 * Returns the key for look-ups: equal numbers of different types are the same key, and text differs
 * from numbers.
 */
function canonicalKey(key: Value): string | number | bigint | boolean | undefined {
  switch (typeof key) {
    case 'string':
    case 'number':
    case 'bigint':
    case 'boolean':
      return key;
    default:
      if (key instanceof Uint)
        return key.value <= 9007199254740991n ? Number(key.value) : key.value;
      if (key instanceof Double) {
        if (Number.isSafeInteger(key.value)) return key.value + 0;
        return Number.isInteger(key.value) ? BigInt(key.value) : undefined;
      }
      return undefined;
  }
}

/** A map that an expression has created. Immutable once it is complete. */
export class MapValue extends AbstractMap {
  readonly #entries = new Map<
    string | number | bigint | boolean,
    { readonly key: Value; readonly value: Value }
  >();

  /** Returns a map. Throws EvaluationError for invalid or duplicate keys. */
  static of(entries: Iterable<readonly [Value, Value]>): MapValue {
    const map = new MapValue();
    for (const [key, value] of entries) map.insert(key, value);
    return map;
  }

  /** Adds an entry. For builders only. */
  insert(key: Value, value: Value): void {
    const canonical = key instanceof Double ? undefined : canonicalKey(key);
    if (canonical === undefined) throw evaluationError('unsupported key type');
    if (this.#entries.has(canonical))
      throw evaluationError(`insert failed: key ${describeKey(key)} already exists`);
    this.#entries.set(canonical, { key, value });
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value {
    const canonical = canonicalKey(key);
    return canonical === undefined ? undefined : this.#entries.get(canonical)?.value;
  }

  *keys(): Iterable<Value> {
    for (const { key } of this.#entries.values()) yield key;
  }

  /** Returns a copy to which entries may be added. */
  copy(): MapValue {
    const copied = new MapValue();
    for (const [canonical, entry] of this.#entries) copied.#entries.set(canonical, entry);
    return copied;
  }
}

export const describeKey = (key: Value): string => {
  if (key instanceof Uint || key instanceof Double) return String(key.value);
  return String(key);
};

type PlainObject = Readonly<Record<string, unknown>>;

export const isPlainObject = (value: Value): value is PlainObject =>
  typeof value === 'object' &&
  value !== null &&
  !(value instanceof CelObject) &&
  !Array.isArray(value) &&
  !(value instanceof Uint8Array);

export const isList = (value: Value): value is readonly unknown[] | ListValue =>
  Array.isArray(value) || value instanceof ListValue;
export const isMap = (value: Value): value is PlainObject | AbstractMap =>
  value instanceof AbstractMap || isPlainObject(value);

/** Converts a raw JSON value without a declared type. */
export function adaptDynamic(raw: unknown): Value {
  if (typeof raw === 'number') return Number.isSafeInteger(raw) ? raw + 0 : new Double(raw);
  return raw === undefined ? null : raw;
}

export const listSize = (list: readonly unknown[] | ListValue): number =>
  Array.isArray(list) ? list.length : (list as ListValue).size;

export function listItem(list: readonly unknown[] | ListValue, index: number): Value {
  return Array.isArray(list) ? adaptDynamic(list[index]) : (list as ListValue).at(index);
}

/** Returns the items as an array: the list itself if it is an array that needs no conversion. */
export function listItems(list: Value): readonly Value[] {
  if (Array.isArray(list)) {
    return list.some(
      (item) => item === undefined || (typeof item === 'number' && !Number.isSafeInteger(item)),
    )
      ? list.map(adaptDynamic)
      : list;
  }
  if (!(list instanceof ListValue)) throw noSuchOverload();
  return Array.from({ length: list.size }, (_, index) => list.at(index));
}

export const mapSize = (map: PlainObject | AbstractMap): number =>
  map instanceof AbstractMap ? map.size : Object.keys(map).length;

export const mapKeys = (map: PlainObject | AbstractMap): Iterable<Value> =>
  map instanceof AbstractMap ? map.keys() : Object.keys(map);

/** Returns the value of a key; undefined if there is none. */
export function mapGet(map: PlainObject | AbstractMap, key: Value): Value {
  if (map instanceof AbstractMap) return map.get(key);
  if (typeof key !== 'string' || !Object.hasOwn(map, key)) return undefined;
  const raw = map[key];
  // A field with the value undefined is absent.
  return raw === undefined ? undefined : adaptDynamic(raw);
}

/** Returns the type of a value; for lists and maps without the types of their content. */
export function typeOfValue(value: Value): Type {
  switch (typeof value) {
    case 'boolean':
      return BOOL;
    case 'number':
    case 'bigint':
      return INT;
    case 'string':
      return STRING;
    default:
      if (value === null || value === undefined) return NULL;
      if (Array.isArray(value)) return list(DYN);
      if (value instanceof CelObject) return value.type;
      if (value instanceof Uint8Array) return BYTES;
      return map(DYN, DYN);
  }
}

export const runtimeTypeName = (value: Value): string => typeName(typeOfValue(value));
