// Compares, freezes and copies JSON values. An API object in memory is such a value and is never
// modified.

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Reports whether the value is an object with keys: no array, no null, no instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Returns the value of the object's own key. Inherited members (`constructor`, `__proto__`) do not
 * count.
 */
export function getOwn(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets the object's own key, also if the key is `__proto__`. */
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
 * Returns a new map without keys. It has no prototype, which distinguishes an empty map from an
 * object without set fields. `semanticEqual` needs the difference.
 */
export function emptyMap(): Record<string, never> {
  return Object.create(null) as Record<string, never>;
}

/**
 * Reports whether two values are equal as JSON: the order of keys does not matter, and a key with
 * the value undefined is absent.
 */
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
 * Reports whether two values mean the same, as Kubernetes compares specs: null, an empty list, an
 * empty map of a decoder (`emptyMap`) and a missing key are equal. Zero, false, '' and {} differ
 * from them: `emptyDir: {}` is not the same as no emptyDir.
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

/**
 * Freezes the value and everything below it, and returns it. For tests: production code relies on
 * objects not being modified.
 */
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

/** Returns a copy that shares nothing with the value. `__proto__` stays an ordinary key. */
export function deepCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => deepCopy(item)) as T;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) setOwn(copy, key, deepCopy(item));
  return copy as T;
}

/**
 * Returns JSON with sorted keys, so that equal values have equal texts. Undefined values are left
 * out.
 */
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

/**
 * Reports whether no object or list in the value is more than `maxDepth` levels deep. A scalar has
 * depth 0.
 */
export function isWithinDepth(value: unknown, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (maxDepth <= 0) return false;
  return Object.values(value).every((item) => isWithinDepth(item, maxDepth - 1));
}
