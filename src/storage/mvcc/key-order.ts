// The order of keys: by their UTF-8 bytes, as in etcd and SQLite.
//
// JavaScript compares strings by UTF-16 code units. That is the same order, except where both units
// that differ first are 0xD800 or above: a surrogate is less than U+E000…U+FFFF, but its code point
// is greater. So the built-in comparison is right if either string has no such unit, and almost all
// keys have none.

/** Reports whether `a` comes before `b`. */
export type KeyLess = (a: string, b: string) => boolean;

const HIGH_UNIT = /[\ud800-\uffff]/;
/** Matches a surrogate without its other half. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Returns the fastest comparison that is right whenever `key` is one of its two arguments. */
export function lessFor(key: string): KeyLess {
  return HIGH_UNIT.test(key) ? lessByCodePoint : lessByUnit;
}

/** Compares any two keys, for sorting: negative, 0 or positive. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  return lessFor(a)(a, b) ? -1 : 1;
}

/** Returns the first string after every string that starts with `prefix`, which ends in '/'. */
export function endOfPrefix(prefix: string): string {
  return `${prefix.slice(0, -1)}0`; // '0' follows '/'
}

/** Returns the first string after `key`. */
export function successor(key: string): string {
  return `${key}\0`;
}

/**
 * Throws TypeError if a key is empty, or has no UTF-8 form and so would not survive a restart. Both
 * are bugs of the caller.
 */
export function assertKey(key: string): void {
  if (key === '') throw new TypeError('storage: a key must not be empty');
  if (HIGH_UNIT.test(key) && LONE_SURROGATE.test(key))
    throw new TypeError('storage: a key must be well-formed Unicode');
}

export function assertPrefix(prefix: string): void {
  if (!prefix.endsWith('/'))
    throw new TypeError(`storage: a prefix must end in '/', not ${JSON.stringify(prefix)}`);
}

function lessByUnit(a: string, b: string): boolean {
  return a < b;
}

function lessByCodePoint(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const unitA = a.charCodeAt(i);
    const unitB = b.charCodeAt(i);
    if (unitA !== unitB) return rank(unitA) < rank(unitB);
  }
  return a.length < b.length;
}

/**
 * Maps a code unit to its rank: surrogates are above the other units, and the order is otherwise
 * kept.
 */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
