// JSON values as data: comparing, freezing, copying. An object of the API in memory is such a value and is never changed.

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** An object with keys: no array, no null, no instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The value of the object's own key; what it inherits (`constructor`, `__proto__`) is not there. */
export function getOwn(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets the object's own key, also where that is `__proto__`. */
export function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else object[key] = value;
}

/**
 * Returns a new map without keys. It has no prototype: this tells an empty map from an object of which no field is set, which
 * `semanticEqual` needs.
 */
export function emptyMap(): Record<string, never> {
  return Object.create(null) as Record<string, never>;
}

/** Equal as JSON: the order of keys does not matter, a key with undefined is not there. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => deepEqual(item, b[index]));
  }
  return sameEntries(
    a as Record<string, unknown>,
    b as Record<string, unknown>,
    deepEqual,
    (value) => value === undefined,
  );
}

/**
 * Equal in meaning, as Kubernetes compares specs: null, an empty list, an empty map of a decoder (`emptyMap`) and a missing key
 * are one and the same. Zero, false, '' and {} are values of their own: `emptyDir: {}` is not the same as no emptyDir.
 */
export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isNothing(a) && isNothing(b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => semanticEqual(item, b[index]));
  }
  return sameEntries(
    a as Record<string, unknown>,
    b as Record<string, unknown>,
    semanticEqual,
    isNothing,
  );
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== 'object') return false;
  return Array.isArray(value)
    ? value.length === 0
    : Object.getPrototypeOf(value) === null && Object.keys(value).length === 0;
}

function sameEntries(
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
  equal: (a: unknown, b: unknown) => boolean,
  absent: (value: unknown) => boolean,
): boolean {
  for (const key of Object.keys(a)) if (!equal(a[key], getOwn(b, key))) return false;
  for (const key of Object.keys(b)) if (!Object.hasOwn(a, key) && !absent(b[key])) return false;
  return true;
}

/** Freezes the value and everything in it, and returns it. For tests: production code relies on objects not being modified. */
export function deepFreeze<T>(value: T): T {
  if (
    typeof value !== 'object' ||
    value === null ||
    Object.isFrozen(value) ||
    ArrayBuffer.isView(value)
  )
    return value;
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}

/** A copy that shares nothing; `__proto__` stays a key. */
export function deepCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => deepCopy(item)) as T;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) setOwn(copy, key, deepCopy(item));
  return copy as T;
}

/** JSON with the keys of every object sorted, so that equal values have one text. Undefined values are left out. */
export function stableStringify(value: unknown): string {
  if (typeof value !== 'object' || value === null)
    return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null');
  if (Array.isArray(value)) return `[${value.map((item) => stableStringify(item)).join(',')}]`;
  const object = value as Readonly<Record<string, unknown>>;
  const entries = Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${stableStringify(object[key])}`);
  return `{${entries.join(',')}}`;
}

/** Whether every object and list in the value is at most `maxDepth` levels deep (a scalar is 0). */
export function isWithinDepth(value: unknown, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (maxDepth <= 0) return false;
  return Object.values(value).every((item) => isWithinDepth(item, maxDepth - 1));
}
