// A mark makes a value unique, so that history shows which transaction has written it. It is white
// space after a JSON object, which every reader of JSON ignores: 20 characters for the process and
// 12 for the transaction, of two bits each.

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** Space, tab, line feed, carriage return. */
const SYMBOLS: readonly number[] = [0x20, 0x09, 0x0a, 0x0d];
const PROCESS_SYMBOLS = 20;
const COUNT_SYMBOLS = 12;
const MARK_BYTES = PROCESS_SYMBOLS + COUNT_SYMBOLS;

export class Marks {
  readonly #process: Uint8Array;
  #count = 0;

  /** `process`: a random UUID. */
  constructor(process: string) {
    const random = Buffer.from(process.replaceAll('-', ''), 'hex').subarray(-PROCESS_SYMBOLS / 4);
    this.#process = Uint8Array.from({ length: PROCESS_SYMBOLS }, (_, i) =>
      symbolOf(random[i >> 2]! >> (2 * (i & 3))),
    );
  }

  /**
   * Returns the value with the next mark. Undefined: it is no JSON object, so it cannot have one.
   */
  mark(value: Uint8Array): Uint8Array | undefined {
    if (value[0] !== OPEN_BRACE || value.at(-1) !== CLOSE_BRACE) return undefined;
    const marked = Buffer.allocUnsafe(value.length + MARK_BYTES);
    marked.set(value);
    marked.set(this.#process, value.length);
    const count = this.#count++;
    const at = value.length + PROCESS_SYMBOLS;
    for (let i = 0; i < COUNT_SYMBOLS; i++) marked[at + i] = symbolOf(count >> (2 * i));
    return marked;
  }
}

/** Returns the value as it was before it was marked: a view. */
export function withoutMark(stored: Uint8Array): Uint8Array {
  const end = stored.length - MARK_BYTES;
  if (stored[0] !== OPEN_BRACE || stored[end - 1] !== CLOSE_BRACE) return stored;
  for (let at = end; at < stored.length; at++) if (!SYMBOLS.includes(stored[at]!)) return stored;
  return stored.subarray(0, end);
}

/** Returns the symbol for the lowest two bits. */
function symbolOf(bits: number): number {
  return SYMBOLS[bits & 3]!;
}
