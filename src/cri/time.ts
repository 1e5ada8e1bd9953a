// CRI timestamps are nanoseconds since the epoch in a number. Today's are above 2^53, so the last
// digits are rounded: convert with these two, which come back to the same millisecond.

/** Milliseconds since the epoch as a CRI timestamp. */
export function toNanoseconds(milliseconds: number): number {
  return milliseconds * 1e6;
}

/** A CRI timestamp in milliseconds since the epoch. 0 ("not yet") stays 0. */
export function toMilliseconds(nanoseconds: number): number {
  return Math.round(nanoseconds / 1e6);
}
