// Builds JSON in reusable memory and copies it when its length is known. Long texts, typical for
// ConfigMaps and Secrets, are copied into it directly: JSON.stringify checks each of their
// characters, and returns a string that must be measured and copied again.

/**
 * The minimum length of a text whose bytes are checked. Shorter texts are encoded faster without
 * the check.
 */
export const LONG_TEXT = 512;
const FIRST_BYTES = 64 * 1024;
/** The size up to which the buffer is kept after a large object. */
const KEPT_BYTES = 1024 * 1024;

const LOWEST_OF_EACH_BYTE = 0x20202020;
const HIGHEST_BIT_OF_EACH_BYTE = 0x80808080;

/**
 * The check is fast when V8 stores the text with one byte per unit, which it does whenever
 * possible.
 */
const BEYOND_LATIN1 = /[\u0100-\uffff]/;
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** Reports whether JSON writes the text unchanged, and as ASCII. */
export function isPlainText(text: string): boolean {
  return PLAIN_TEXT.test(text);
}

/** Returns the text as JSON. */
export function quoted(text: string): string {
  return isPlainText(text) ? `"${text}"` : JSON.stringify(text);
}

/** The first field names of schemas that were used, as JSON. There are few. */
const names = new Map<string, string>();
const MAX_NAMES = 500;
const MAX_NAME = 100;

/**
 * Returns the name of a field as JSON, followed by a colon. Not for names that users choose: names
 * are cached.
 */
export function memberName(name: string): string {
  const cached = names.get(name);
  if (cached !== undefined) return cached;
  const text = `${quoted(name)}:`;
  if (name.length <= MAX_NAME && names.size < MAX_NAMES) names.set(name, text);
  return text;
}

export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #words = new Int32Array(this.#bytes.buffer);
  #length = 0;
  /** JSON that is not in the buffer yet. */
  #pending = '';
  /** The mark's index in #pending until its byte offset is known; then -1. */
  #markIn = -1;
  #mark = 0;

  /** Adds JSON unchanged. */
  add(json: string): void {
    this.#pending += json;
  }

  /** Adds a text as JSON. */
  addText(text: string): void {
    if (
      text.length < LONG_TEXT ||
      text.includes('"') ||
      text.includes('\\') ||
      BEYOND_LATIN1.test(text)
    ) {
      this.#pending += JSON.stringify(text);
      return;
    }
    this.#pending += '"';
    this.#flush();
    this.#reserve(text.length);
    const begin = this.#length;
    const end = begin + this.#bytes.write(text, begin, 'latin1');
    if (this.#isPlain(begin, end)) {
      this.#length = end;
      this.#pending = '"';
    } else {
      this.#length = begin - 1;
      this.#pending = JSON.stringify(text);
    }
  }

  /** Marks the beginning of the next bytes. */
  mark(): void {
    this.#markIn = this.#pending.length;
  }

  /** The byte offset of the mark. */
  get marked(): number {
    this.#flush();
    return this.#mark;
  }

  /** Returns everything added since the last call, after `ahead` uninitialized bytes. */
  take(ahead: number): Buffer<ArrayBuffer> {
    this.#flush();
    const length = this.#length;
    // The buffer is not from Node's pool: a stored value is long-lived and would keep its whole
    // slab.
    const taken = Buffer.allocUnsafeSlow(ahead + length);
    this.#bytes.copy(taken, ahead, 0, length);
    this.clear();
    return taken;
  }

  /** Discards everything added. */
  clear(): void {
    this.#length = 0;
    this.#pending = '';
    this.#markIn = -1;
    if (this.#bytes.length > KEPT_BYTES) this.#allocate(FIRST_BYTES);
  }

  #flush(): void {
    const pending = this.#pending;
    if (pending === '') return;
    this.#pending = '';
    const begin = this.#length;
    const written = this.#write(pending);
    if (this.#markIn < 0) return;
    const isAscii = written === pending.length;
    this.#mark =
      begin + (isAscii ? this.#markIn : Buffer.byteLength(pending.slice(0, this.#markIn)));
    this.#markIn = -1;
  }

  /** Writes the text. Returns its length in UTF-8. */
  #write(text: string): number {
    // A UTF-16 unit takes at most three bytes.
    this.#reserve(3 * text.length);
    const written = this.#bytes.write(text, this.#length, 'utf8');
    this.#length += written;
    return written;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const old = this.#bytes;
    this.#allocate(2 ** Math.ceil(Math.log2(needed)));
    old.copy(this.#bytes, 0, 0, this.#length);
  }

  #allocate(bytes: number): void {
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
    this.#words = new Int32Array(this.#bytes.buffer);
  }

  /**
   * Reports whether all characters are ASCII from the space on, without quotes and backslashes;
   * checks four at a time.
   */
  #isPlain(begin: number, end: number): boolean {
    const bytes = this.#bytes;
    const words = this.#words;
    let at = begin;
    for (; at < end && at % 4 !== 0; at++) if (!isPlainByte(bytes[at]!)) return false;
    // The subtraction borrows from the highest bit of a byte, which ASCII does not use, if the byte
    // is less than the subtrahend.
    let highest = 0;
    const lastWord = end >> 2;
    for (let index = at >> 2; index < lastWord; index++) {
      const word = words[index]!;
      highest |= word | (word - LOWEST_OF_EACH_BYTE);
    }
    if ((highest & HIGHEST_BIT_OF_EACH_BYTE) !== 0) return false;
    for (at = Math.max(at, lastWord * 4); at < end; at++)
      if (!isPlainByte(bytes[at]!)) return false;
    return true;
  }
}

function isPlainByte(byte: number): boolean {
  return byte >= 0x20 && byte < 0x80;
}
