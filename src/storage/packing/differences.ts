// The differences of a value from a similar one. Objects of one template have most of their bytes in
// common, in the same order: what lies between is a name, an address or a time.
//
// The differences are a string with a character for each byte, since a short string is a single
// object in the heap, where a buffer would be four. It is a sequence of steps:
//
//   varint  the number of literal bytes, which follow
//   bytes   the literal bytes
//   varint  the number of bytes to copy from the model
//   varint  where they begin in the model: the distance from where the copy of the step before
//           ended; zigzag
//           then what differs within the copy, as often as need be:
//   varint  the number of bytes that are replaced, which follow the next number; 0: no more
//   varint  the number of bytes since the last ones that were replaced
//   bytes   the replacements
//
// The last step may end after its literal bytes. So texts of the same length are replaced in one
// copy, which is as fast as a copy of the whole value.
//
// Equal places are found at quotation marks: values of other formats than JSON have no differences.

import { StepWriter } from './step-writer.ts';

/** The shortest piece that is copied, and the bytes by which equal places are found. */
const MIN_COPY = 8;
const QUOTE = 0x22;
const SLOTS = 1024;
/** Places of the same hash that are compared: with hostile values each search would be as long as the model. */
const MAX_PLACES = 16;

/** A value that others are compared with. */
export class Model {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #index: QuoteIndex | undefined;

  /** `bytes` must be shorter than 64 KiB, since positions have 16 bits, and must not be modified. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = viewOf(bytes);
  }

  /**
   * Returns the differences of a value. Undefined: they take more than `limit` bytes, at most the
   * length of the value.
   */
  differences(value: Uint8Array, limit: number): string | undefined {
    const view = viewOf(value);
    const writer = new StepWriter(value, limit);
    let from = 0;
    let at = 0;
    while (at < value.length) {
      const run = this.#equalBytes(from, view, at);
      if (run >= MIN_COPY) {
        writer.copy(at, from, run);
        from += run;
        at += run;
      }
      if (writer.isFull(at)) return undefined;
      let place: number | undefined;
      do at = nextQuote(value, at + 1);
      while (at < value.length && (place = this.#placeOf(view, at, from)) === undefined);
      if (place !== undefined) from = place;
    }
    return writer.end();
  }

  /** Returns how many bytes are equal from these positions on. */
  #equalBytes(from: number, value: DataView, at: number): number {
    const model = this.#view;
    const most = Math.min(model.byteLength - from, value.byteLength - at);
    let count = 0;
    while (count + 4 <= most && model.getInt32(from + count) === value.getInt32(at + count))
      count += 4;
    while (count < most && model.getUint8(from + count) === value.getUint8(at + count)) count++;
    return count;
  }

  /** Returns the first place at or after `from` that has the bytes at `at`; else the first of all. */
  #placeOf(value: DataView, at: number, from: number): number | undefined {
    if (at + MIN_COPY > value.byteLength) return undefined;
    const { first, next } = (this.#index ??= indexOf(this.bytes, this.#view));
    let earlier = 0;
    let place = first[hashAt(value, at)]!;
    for (let places = 0; place !== 0 && places < MAX_PLACES; place = next[place]!, places++) {
      if (place < from) earlier ||= place;
      else if (isSame(this.#view, place, value, at)) return place;
    }
    return earlier !== 0 && isSame(this.#view, earlier, value, at) ? earlier : undefined;
  }
}

/** Where the quotation marks of a model are, by a hash of the bytes from there on. */
interface QuoteIndex {
  /** The first position of each hash. */
  readonly first: Uint16Array;
  /** By position: the next one with the same hash. */
  readonly next: Uint16Array;
}

function indexOf(bytes: Uint8Array, view: DataView): QuoteIndex {
  const first = new Uint16Array(SLOTS);
  const next = new Uint16Array(bytes.length);
  // From the end, so that each position comes before later ones.
  for (let at = bytes.length - MIN_COPY; at > 0; at--) {
    if (bytes[at] !== QUOTE) continue;
    const slot = hashAt(view, at);
    next[at] = first[slot]!;
    first[slot] = at;
  }
  return { first, next };
}

function hashAt(view: DataView, at: number): number {
  const mixed = Math.imul(
    Math.imul(view.getInt32(at), 0x9e3779b1) ^ view.getInt32(at + 4),
    0x85ebca6b,
  );
  return (mixed >>> 16) & (SLOTS - 1);
}

function isSame(a: DataView, aAt: number, b: DataView, bAt: number): boolean {
  return a.getInt32(aAt) === b.getInt32(bAt) && a.getInt32(aAt + 4) === b.getInt32(bAt + 4);
}

function nextQuote(value: Uint8Array, from: number): number {
  let at = from;
  while (at < value.length && value[at] !== QUOTE) at++;
  return at;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
