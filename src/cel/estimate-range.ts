// Ranges of sizes and costs: minimum and maximum. Sums and products are limited to 64 bits instead
// of overflowing.

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** The largest value; the maximum of unknown sizes. */
export const UNBOUNDED = 2 ** 64;

const cap = (value: number): number => (value > UNBOUNDED ? UNBOUNDED : value);

export const exactly = (value: number): Range => ({ min: value, max: value });
export const upTo = (max: number): Range => ({ min: 0, max: cap(max) });
export const ZERO = exactly(0);
export const ONE = exactly(1);
export const UNKNOWN = upTo(UNBOUNDED);

export function plus(...ranges: readonly Range[]): Range {
  let [min, max] = [0, 0];
  for (const range of ranges) {
    min += range.min;
    max += range.max;
  }
  return { min: cap(min), max: cap(max) };
}

export const times = (a: Range, b: Range): Range => ({
  min: cap(a.min * b.min),
  max: cap(a.max * b.max),
});

/** Multiplies a range and rounds up. */
export const scaled = (range: Range, factor: number): Range => ({
  min: cap(Math.ceil(range.min * factor)),
  max: cap(Math.ceil(range.max * factor)),
});

export const either = (a: Range, b: Range): Range => ({
  min: Math.min(a.min, b.min),
  max: Math.max(a.max, b.max),
});
