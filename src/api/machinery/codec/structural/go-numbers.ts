// Numbers as upstream sees them. Go keeps an integer (int64) and any other number (float64) apart; here each is a double. A number without
// a fraction counts as an integer if it fits one.

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
