// Exact 64-bit arithmetic; overflow is an error. Ints are numbers while they are safe integers, so
// the usual case uses native operations.

import { evaluationError, noSuchOverload } from './errors.ts';
import { Double, Duration, normalizeInt, Timestamp, Uint, type Value } from './values.ts';

const MAX = Number.MAX_SAFE_INTEGER;

type Int = number | bigint;

export function addInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (sum <= MAX && sum >= -MAX) return sum;
  }
  return normalizeInt(BigInt(a) + BigInt(b));
}

export function subtractInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b;
    if (difference <= MAX && difference >= -MAX) return difference;
  }
  return normalizeInt(BigInt(a) - BigInt(b));
}

export function multiplyInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    // Adding zero turns -0 into 0: ints have no negative zero.
    const product = a * b + 0;
    if (product <= MAX && product >= -MAX) return product;
  }
  return normalizeInt(BigInt(a) * BigInt(b));
}

const divisionByZero = (): Error => evaluationError('division by zero');
const modulusByZero = (): Error => evaluationError('modulus by zero');

/** Divides and rounds towards zero. */
export function divideInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    if (b === 0) throw divisionByZero();
    return (a - (a % b)) / b + 0;
  }
  if (b === 0) throw divisionByZero();
  return normalizeInt(BigInt(a) / BigInt(b));
}

/** Returns the remainder, which has the sign of `a`. */
export function moduloInts(a: Int, b: Int): Int {
  if (b === 0) throw modulusByZero();
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0;
  return normalizeInt(BigInt(a) % BigInt(b));
}

export const negateInt = (a: Int): Int => (typeof a === 'number' ? 0 - a : normalizeInt(-a));

export const uints = {
  add: (a: Uint, b: Uint): Uint => Uint.checked(a.value + b.value),
  subtract: (a: Uint, b: Uint): Uint => Uint.checked(a.value - b.value),
  multiply: (a: Uint, b: Uint): Uint => Uint.checked(a.value * b.value),
  divide(a: Uint, b: Uint): Uint {
    if (b.value === 0n) throw divisionByZero();
    return new Uint(a.value / b.value);
  },
  modulo(a: Uint, b: Uint): Uint {
    if (b.value === 0n) throw modulusByZero();
    return new Uint(a.value % b.value);
  },
};

export const doubles = {
  add: (a: Double, b: Double): Double => new Double(a.value + b.value),
  subtract: (a: Double, b: Double): Double => new Double(a.value - b.value),
  multiply: (a: Double, b: Double): Double => new Double(a.value * b.value),
  divide: (a: Double, b: Double): Double => new Double(a.value / b.value),
  negate: (a: Double): Double => new Double(-a.value),
};

export const times = {
  addDuration: (a: Timestamp, b: Duration): Timestamp =>
    Timestamp.checked(a.nanoseconds + b.nanoseconds, a.offset),
  subtractDuration: (a: Timestamp, b: Duration): Timestamp =>
    Timestamp.checked(a.nanoseconds - b.nanoseconds, a.offset),
  between: (a: Timestamp, b: Timestamp): Duration =>
    Duration.checked(a.nanoseconds - b.nanoseconds),
  addDurations: (a: Duration, b: Duration): Duration =>
    Duration.checked(a.nanoseconds + b.nanoseconds),
  subtractDurations: (a: Duration, b: Duration): Duration =>
    Duration.checked(a.nanoseconds - b.nanoseconds),
};

/** Converts a double to an int, rounding towards zero. */
export function doubleToInt(value: number): Int {
  if (!Number.isFinite(value)) throw evaluationError('integer overflow');
  const whole = Math.trunc(value);
  if (Number.isSafeInteger(whole)) return whole + 0;
  // The limits themselves are errors, too: the value may have been beyond them before it was
  // rounded.
  if (whole >= 2 ** 63 || whole <= -(2 ** 63)) throw evaluationError('integer overflow');
  return normalizeInt(BigInt(whole));
}

/** Returns an index into a list: an int, or another number with an integer value. */
export function toIndex(value: Value): Int {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof Uint) return normalizeIndex(value.value);
  if (value instanceof Double && Number.isSafeInteger(value.value)) return value.value + 0;
  throw noSuchOverload();
}

const normalizeIndex = (value: bigint): Int => (value <= BigInt(MAX) ? Number(value) : value);
