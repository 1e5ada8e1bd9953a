// Converts CRI timestamps: nanoseconds since the epoch, as a number. Present times are above 2^53,
// so the last digits are rounded; these two functions are exact to the millisecond in both
// directions.

/** Returns a CRI timestamp for milliseconds since the epoch. */
export function toNanoseconds(milliseconds: number): number {
  return milliseconds * 1e6;
}

/** Returns a CRI timestamp in milliseconds since the epoch. 0 ("not yet") stays 0. */
export function toMilliseconds(nanoseconds: number): number {
  return Math.round(nanoseconds / 1e6);
}
