// The protobuf wire format: tagged fields of varints, eight bytes, and byte sequences. Only the
// parts that the API uses.

import { MAX_BODY_VALUES } from '../limits.ts';

export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/** The bytes are not a protobuf message of the type. */
export class ProtobufError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProtobufError';
  }
}

/** Returns the number of bytes of a non-negative integer up to 2^53. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
  return length;
}

/** Writes an integer and returns the offset after it. There must be room. */
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

/** Texts up to this length are mostly ASCII, and a loop is faster than a call. */
const SHORT_TEXT = 48;
/** The size up to which the buffer is kept for the next message. */
const KEPT_BYTES = 1024 * 1024;

/** A buffer that grows as it is written to. */
export class Writer {
  #buffer: Buffer = Buffer.allocUnsafe(4096);
  #length = 0;

  /** Returns a copy of the written bytes and empties the writer. */
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

  /** Writes a non-negative integer up to 2^53. */
  varint(value: number): void {
    this.#reserve(10);
    if (value < 0x80) this.#buffer[this.#length++] = value;
    else this.#length = writeVarint(this.#buffer, this.#length, value);
  }

  /** Writes an integer in two's complement: a negative number takes ten bytes. */
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

  /**
   * Begins a nested message, whose length is known only after it was written. Returns the argument
   * for `end`.
   */
  begin(): number {
    // Reserves one byte for the length, which suffices below 128 bytes; otherwise the message is
    // moved.
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

/** Reads the fields of a message and of its nested messages. */
export class Reader {
  /** The number and the wire type of the current field. */
  number = 0;
  wireType = 0;
  readonly #buffer: Buffer;
  #at: number;
  /** The end of the current message. */
  #end: number;
  #values = 0;

  constructor(bytes: Uint8Array, start = 0) {
    this.#buffer = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = start;
    this.#end = bytes.length;
  }

  /**
   * Advances to the next field; returns false at the end of the message. The field's value must
   * then be read or skipped.
   */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    this.count();
    const tag = this.varint();
    this.number = Math.floor(tag / 8);
    this.wireType = tag % 8;
    if (tag < 8)
      throw new ProtobufError(`proto: illegal tag ${this.number} (wire type ${this.wireType})`);
    return true;
  }

  /** Counts a value. Throws ProtobufError beyond the limit for a body. */
  count(): void {
    if (++this.#values > MAX_BODY_VALUES)
      throw new ProtobufError(`proto: limit is ${MAX_BODY_VALUES} values`);
  }

  /**
   * Reads an integer that a JavaScript number holds exactly. Negative ones are in two's complement.
   */
  varint(): number {
    let value = this.#byte();
    if (value < 0x80) return value;
    value &= 0x7f;
    let factor = 0x80;
    for (let i = 1; i < 7; i++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
    // Beyond 2^49, an integer that a number cannot hold exactly is an error.
    let wide = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      wide |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        const signed = Number(BigInt.asIntN(64, wide));
        if (!Number.isSafeInteger(signed))
          throw new ProtobufError(`proto: integer beyond 2^53: ${BigInt.asIntN(64, wide)}`);
        return signed;
      }
    }
    throw new ProtobufError('proto: integer overflow');
  }

  double(): number {
    return this.#buffer.readDoubleLE(this.#take(8));
  }

  bytes(): Buffer {
    const size = this.#size();
    const start = this.#take(size);
    return this.#buffer.subarray(start, start + size);
  }

  text(): string {
    const size = this.#size();
    const start = this.#take(size);
    if (size <= SHORT_TEXT) {
      let text = '';
      let at = start;
      for (const end = start + size; at < end; at++) {
        const byte = this.#buffer[at]!;
        if (byte >= 0x80) break;
        text += String.fromCharCode(byte);
      }
      if (at === start + size) return text;
    }
    return this.#buffer.toString('utf8', start, start + size);
  }

  /**
   * Enters the nested message that comes next, whose fields `next` then returns. Returns the
   * argument for `leave`.
   */
  enter(): number {
    const size = this.#size();
    const outerEnd = this.#end;
    if (size > outerEnd - this.#at) throw new ProtobufError('unexpected EOF');
    this.#end = this.#at + size;
    return outerEnd;
  }

  /** Returns to the enclosing message after this one was read. */
  leave(outerEnd: number): void {
    this.#end = outerEnd;
  }

  /** Reports whether the message has more bytes. */
  get more(): boolean {
    return this.#at < this.#end;
  }

  /** Skips the value of the current field. */
  skip(): void {
    switch (this.wireType) {
      case VARINT:
        while (this.#byte() >= 0x80);
        return;
      case FIXED64:
        this.#take(8);
        return;
      case BYTES:
        this.#take(this.#size());
        return;
      case FIXED32:
        this.#take(4);
        return;
      case START_GROUP:
        this.#skipGroup();
        return;
      default:
        throw new ProtobufError(`proto: illegal wireType ${this.wireType}`);
    }
  }

  /** Skips the fields of a group, an old form of messages, with its end. */
  #skipGroup(): void {
    for (let depth = 1; depth > 0;) {
      if (!this.next()) throw new ProtobufError('unexpected EOF');
      if (this.wireType === START_GROUP) depth++;
      else if (this.wireType === END_GROUP) depth--;
      else this.skip();
    }
  }

  #size(): number {
    const size = this.varint();
    if (size < 0) throw new ProtobufError('proto: negative length found during unmarshaling');
    return size;
  }

  /** Consumes `size` bytes and returns their offset. */
  #take(size: number): number {
    const start = this.#at;
    if (size > this.#end - start) throw new ProtobufError('unexpected EOF');
    this.#at = start + size;
    return start;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new ProtobufError('unexpected EOF');
    return this.#buffer[this.#at++]!;
  }
}
