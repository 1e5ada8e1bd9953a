// Numbers as upstream sees them. Go keeps an integer (int64) and any other number (float64) apart; here each is a double, but for integers
// beyond 2^53, which are bigints. A number without a fraction counts as an integer if it fits one.

/** The largest double that is an int64. */
const MAX_INT64_DOUBLE = 2 ** 63 - 1024;

/** Returns the double by which the bounds of a schema, which are doubles, are checked for an integer beyond 2^53. */
export function nearestInt64(value: bigint): number {
  return Math.min(Number(value), MAX_INT64_DOUBLE);
}

/** Reports whether Go would read the number as an int64. */
export function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;
}

/** Reports whether a double passes for an integer: it is one, or so near to one that the difference is rounding. */
export function passesForInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  if (Number.isInteger(value)) return true;
  // Upstream converts to an unsigned integer first, so that the tolerance does not apply to negative numbers.
  if (value < 1) return false;
  const whole = Math.trunc(value);
  return (value - whole) / (value + whole) < 1e-9;
}
