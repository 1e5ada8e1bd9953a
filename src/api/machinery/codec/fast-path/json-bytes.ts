// JSON put together in memory that is used again and again, and taken from there when its length is known. Long texts, which
// ConfigMaps and Secrets mostly are, go there as they are: JSON.stringify looks at each of their characters by itself, and hands
// over a string that then has to be measured and copied.

/** Shorter texts are not worth the look at their bytes. */
export const LONG_TEXT = 512;
const FIRST_BYTES = 64 * 1024;
/** What grew beyond this for a large object is not kept. */
const KEPT_BYTES = 1024 * 1024;

const LOWEST_OF_EACH_BYTE = 0x20202020;
const HIGHEST_BIT_OF_EACH_BYTE = 0x80808080;

/** Found without looking at the text where V8 keeps it in one byte a unit, as it does whenever it can. */
const BEYOND_LATIN1 = /[\u0100-\uffff]/;
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** Whether JSON writes it as it is, and as ASCII. */
export function isPlainText(text: string): boolean {
  return PLAIN_TEXT.test(text);
}

/** The text as JSON. */
export function quoted(text: string): string {
  return isPlainText(text) ? `"${text}"` : JSON.stringify(text);
}

/** Those of schemas, the first that come: they are few. */
const names = new Map<string, string>();
const MAX_NAMES = 500;
const MAX_NAME = 100;

/** The name of a field as JSON, with the colon behind it. Not for names that users choose one by one: those known are kept. */
export function memberName(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  const text = `${quoted(name)}:`;
  if (name.length <= MAX_NAME && names.size < MAX_NAMES) names.set(name, text);
  return text;
}

export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #words = new Int32Array(this.#bytes.buffer);
  #length = 0;
  /** JSON that is not in the bytes yet. */
  #pending = '';
  /** In it, if that is not yet known in bytes; else -1. */
  #markIn = -1;
  #mark = 0;

  /** JSON as it is. */
  add(json: string): void {
    this.#pending += json;
  }

  /** A text, as JSON writes it. */
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

  /** Notes where the bytes that are added next begin. */
  mark(): void {
    this.#markIn = this.#pending.length;
  }

  /** Where mark() was called, in bytes. */
  get marked(): number {
    this.#flush();
    return this.#mark;
  }

  /** All that was added since the last time, after `ahead` bytes that are not set. */
  take(ahead: number): Buffer<ArrayBuffer> {
    this.#flush();
    const length = this.#length;
    // Not from Node's pool: a stored value lives long, and would keep its whole slab.
    const taken = Buffer.allocUnsafeSlow(ahead + length);
    this.#bytes.copy(taken, ahead, 0, length);
    this.clear();
    return taken;
  }

  /** Forgets what was added. */
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

  /** Answers how many bytes it has in UTF-8. */
  #write(text: string): number {
    // No unit of UTF-16 takes more than three bytes.
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

  /** Whether all are characters of ASCII from the space on, four of them looked at together. */
  #isPlain(begin: number, end: number): boolean {
    const bytes = this.#bytes;
    const words = this.#words;
    let at = begin;
    for (; at < end && at % 4 !== 0; at++) if (!isPlainByte(bytes[at] as number)) return false;
    // What is subtracted from a byte is borrowed from its highest bit, which ASCII does not have, if the byte is less.
    let highest = 0;
    const lastWord = end >> 2;
    for (let index = at >> 2; index < lastWord; index++) {
      const word = words[index] as number;
      highest |= word | (word - LOWEST_OF_EACH_BYTE);
    }
    if ((highest & HIGHEST_BIT_OF_EACH_BYTE) !== 0) return false;
    for (at = Math.max(at, lastWord * 4); at < end; at++)
      if (!isPlainByte(bytes[at] as number)) return false;
    return true;
  }
}

function isPlainByte(byte: number): boolean {
  return byte >= 0x20 && byte < 0x80;
}
