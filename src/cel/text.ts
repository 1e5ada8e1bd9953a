// Text as expressions see it: a sequence of code points, not of UTF-16 units.

const SURROGATE = /[\ud800-\udfff]/;

/** The length up to which counting is not cached. */
const LONG = 4096;
/**
 * The long text that was counted last: an expression often needs its length again, for example for
 * each element of a list.
 */
let counted = { text: '', length: 0 };

/** Returns the number of code points. */
export function codePointLength(text: string): number {
  if (text.length < LONG) return count(text);
  if (text !== counted.text) counted = { text, length: count(text) };
  return counted.length;
}

function count(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const next = text.charCodeAt(at + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        pairs++;
        at++;
      }
    }
  }
  return text.length - pairs;
}

/**
 * A text for operations on code points. Nearly all texts have no surrogates and are used directly.
 */
export class CodePoints {
  readonly text: string;
  readonly #points: readonly string[] | undefined;

  constructor(text: string) {
    this.text = text;
    this.#points = SURROGATE.test(text) ? [...text] : undefined;
  }

  get length(): number {
    return this.#points?.length ?? this.text.length;
  }

  slice(start: number, end?: number): string {
    return this.#points === undefined
      ? this.text.slice(start, end)
      : this.#points.slice(start, end).join('');
  }

  /** Converts an index of code points to UTF-16 units. */
  toUnits(index: number): number {
    return this.#points === undefined ? index : this.#points.slice(0, index).join('').length;
  }

  /** Converts an index of UTF-16 units to code points; -1 stays. */
  fromUnits(index: number): number {
    return this.#points === undefined || index < 0
      ? index
      : codePointLength(this.text.slice(0, index));
  }
}

/** Compares by code points, which is the order of UTF-8's bytes. */
export function compareText(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x === y) continue;
    // Surrogates are parts of the highest code points.
    const [highX, highY] = [x >= 0xd800 && x <= 0xdfff, y >= 0xd800 && y <= 0xdfff];
    if (highX !== highY) return highX ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return a.length < b.length ? -1 : 1;
}
