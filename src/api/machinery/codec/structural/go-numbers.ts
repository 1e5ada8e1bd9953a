// Numbers as upstream distinguishes them. Go has integers (int64) and other numbers (float64). Here
// each is a double, except integers beyond 2^53, which are bigints. A number without a fraction
// counts as an integer if an int64 can hold it.

/** The largest double that is an int64. */
const MAX_INT64_DOUBLE = 2 ** 63 - 1024;

/**
 * Returns the double for comparing an integer beyond 2^53 with the bounds of a schema, which are
 * doubles.
 */
export function nearestInt64(value: bigint): number {
  return Math.min(Number(value), MAX_INT64_DOUBLE);
}

/** Reports whether Go would parse the number as an int64. */
export function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;
}

/**
 * Reports whether a double counts as an integer: it is one, or differs from one by a rounding
 * error.
 */
export function passesForInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  if (Number.isInteger(value)) return true;
  // Upstream converts to an unsigned integer first, so the tolerance does not apply to negative
  // numbers.
  if (value < 1) return false;
  const whole = Math.trunc(value);
  return (value - whole) / (value + whole) < 1e-9;
}
