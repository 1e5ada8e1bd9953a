// The protobuf wire format: tagged fields of varints, eight bytes, and runs of bytes. No more of it than the API uses.

export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
export const FIXED32 = 5;

/** The bytes are no protobuf message, or not of the type. */
export class ProtobufError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProtobufError';
  }
}

/** How many bytes a non-negative integer up to 2^53 takes. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
  return length;
}

/** Answers the offset behind it. There must be room. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let at = offset;
  let rest = value;
  while (rest >= 0x80) {
    target[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  target[at++] = rest;
  return at;
}

/** Texts up to this length are mostly ASCII, and a loop is quicker than a call. */
const SHORT_TEXT = 48;
/** A buffer that grew beyond this is not kept for the next message. */
const KEPT_BYTES = 1024 * 1024;

/** Grows as it is written to. */
export class Writer {
  #buffer: Buffer = Buffer.allocUnsafe(4096);
  #length = 0;

  /** A copy of what has been written; the writer is empty again. */
  finish(): Buffer {
    const written = Buffer.from(this.#buffer.subarray(0, this.#length));
    this.reset();
    return written;
  }

  reset(): void {
    this.#length = 0;
    if (this.#buffer.length > KEPT_BYTES) this.#buffer = Buffer.allocUnsafe(4096);
  }

  tag(number: number, wireType: number): void {
    this.varint(number * 8 + wireType);
  }

  /** A non-negative integer up to 2^53. */
  varint(value: number): void {
    this.#reserve(10);
    if (value < 0x80) this.#buffer[this.#length++] = value;
    else this.#length = writeVarint(this.#buffer, this.#length, value);
  }

  /** Two's complement: a negative number takes ten bytes. */
  int64(value: number): void {
    if (value >= 0) {
      this.varint(value);
      return;
    }
    this.#reserve(10);
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest >= 0x80n) {
      this.#buffer[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#buffer[this.#length++] = Number(rest);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  text(value: string): void {
    const { length } = value;
    if (length <= SHORT_TEXT) {
      this.#reserve(length + 1);
      const buffer = this.#buffer;
      const start = this.#length + 1;
      let i = 0;
      for (; i < length; i++) {
        const code = value.charCodeAt(i);
        if (code >= 0x80) break;
        buffer[start + i] = code;
      }
      if (i === length) {
        buffer[start - 1] = length;
        this.#length = start + length;
        return;
      }
    }
    const byteLength = Buffer.byteLength(value);
    this.varint(byteLength);
    this.#reserve(byteLength);
    this.#length += this.#buffer.write(value, this.#length);
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length);
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
  }

  /** Begins a message inside this one, whose length is known when it has been written. Answers what `end` wants. */
  begin(): number {
    // Most are shorter than 128 bytes: room for one byte of length, and the rest is moved if that is not enough.
    this.#reserve(1);
    return ++this.#length;
  }

  /** Ends the message that began at `start`. */
  end(start: number): void {
    const length = this.#length - start;
    if (length < 0x80) {
      this.#buffer[start - 1] = length;
      return;
    }
    const more = varintLength(length) - 1;
    this.#reserve(more);
    this.#buffer.copyWithin(start + more, start, this.#length);
    writeVarint(this.#buffer, start - 1, length);
    this.#length += more;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + bytes));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Reads the fields of one message. */
export class Reader {
  readonly #buffer: Buffer;
  #at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = start;
    this.#end = end;
  }

  /** The next field, or undefined at the end. Its value must be read, or skipped, next. */
  next(): { readonly number: number; readonly wireType: number } | undefined {
    if (this.#at >= this.#end) return undefined;
    const tag = this.varint();
    const number = Math.floor(tag / 8);
    if (number === 0) throw new ProtobufError('proto: illegal tag 0');
    return { number, wireType: tag % 8 };
  }

  /** An integer that a JavaScript number holds exactly; negative ones are in two's complement. */
  varint(): number {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 7; i++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
    // Beyond 2^49: exactly, or not at all.
    let wide = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      wide |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        const signed = Number(BigInt.asIntN(64, wide));
        if (!Number.isSafeInteger(signed)) throw new ProtobufError(`proto: integer beyond 2^53: ${BigInt.asIntN(64, wide)}`);
        return signed;
      }
    }
    throw new ProtobufError('proto: integer overflow');
  }

  double(): number {
    const value = this.#take(8).readDoubleLE(0);
    return value;
  }

  bytes(): Buffer {
    return this.#take(this.#size());
  }

  text(): string {
    return this.bytes().toString('utf8');
  }

  /** A reader of the message that comes next. */
  message(): Reader {
    const size = this.#size();
    const start = this.#at;
    this.#take(size);
    return new Reader(this.#buffer, start, start + size);
  }

  skip(wireType: number): void {
    if (wireType === VARINT) while (this.#byte() >= 0x80);
    else if (wireType === FIXED64) this.#take(8);
    else if (wireType === BYTES) this.bytes();
    else if (wireType === FIXED32) this.#take(4);
    else throw new ProtobufError(`proto: illegal wireType ${wireType}`);
  }

  #size(): number {
    const size = this.varint();
    if (size < 0) throw new ProtobufError('proto: negative length found during unmarshaling');
    return size;
  }

  #take(size: number): Buffer {
    if (size > this.#end - this.#at) throw new ProtobufError('unexpected EOF');
    const taken = this.#buffer.subarray(this.#at, this.#at + size);
    this.#at += size;
    return taken;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new ProtobufError('unexpected EOF');
    return this.#buffer[this.#at++] as number;
  }
}
