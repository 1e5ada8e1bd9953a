// Frames on a byte stream between two processes: a length, a type, the number of a call, and a
// body of primitive values. Frames that are sent in one turn of the event loop leave as one write,
// which costs a system call. Values are copied once, or not at all if they are large.

import type { Duplex } from 'node:stream';
import { inNextTurn } from '#machinery/pending-work.ts';

/** The bytes before the body: u32 length of what follows it, u8 type, u32 call. */
const HEADER_BYTES = 9;
const LENGTH_BYTES = 4;
/** A longer frame is a broken stream: no object is as large. */
const MAX_FRAME_BYTES = 512 * 1024 * 1024;
/** Values from this size on are sent as they are, without a copy. */
const LARGE_VALUE_BYTES = 32 * 1024;
const MIN_BUFFER_BYTES = 4 * 1024;
const MAX_BUFFER_BYTES = 256 * 1024;

/** The other end of the channel sent bytes that are no frames. */
export class FrameError extends Error {
  constructor(message: string) {
    super(`channel: ${message}`);
    this.name = 'FrameError';
  }
}

/**
 * Writes frames: `begin`, then the values of the body in order, then `end`. Nothing is sent before
 * the next turn of the event loop.
 */
export class FrameWriter {
  readonly #stream: Duplex;
  /** Filled buffers and large values, in the order in which they are sent. */
  #chunks: Uint8Array[] = [];
  #chunkBytes = 0;
  #buffer: Buffer = Buffer.allocUnsafeSlow(MIN_BUFFER_BYTES);
  /** The part of the buffer that is not yet in `#chunks`. */
  #start = 0;
  #position = 0;
  /** Where the length of the open frame is written, and `#total` behind it. */
  #lengthIn: Buffer = this.#buffer;
  #lengthAt = 0;
  #bodyFrom = 0;
  /** The number of bytes that were ever moved to `#chunks`. */
  #moved = 0;
  #lastFlush = 0;
  #isFlushing = false;

  constructor(stream: Duplex) {
    this.#stream = stream;
  }

  /** The number of bytes that wait until the other end reads them. */
  get waitingBytes(): number {
    return this.#stream.writableLength + this.#chunkBytes + this.#position - this.#start;
  }

  begin(type: number, call: number): this {
    this.#reserve(HEADER_BYTES);
    this.#lengthIn = this.#buffer;
    this.#lengthAt = this.#position;
    this.#position += LENGTH_BYTES;
    this.#bodyFrom = this.#total;
    return this.u8(type).u32(call);
  }

  u8(value: number): this {
    this.#reserve(1);
    this.#position = this.#buffer.writeUInt8(value, this.#position);
    return this;
  }

  u32(value: number): this {
    this.#reserve(4);
    this.#position = this.#buffer.writeUInt32LE(value, this.#position);
    return this;
  }

  /** Any number: a revision, or a time in milliseconds. */
  number(value: number): this {
    this.#reserve(8);
    this.#position = this.#buffer.writeDoubleLE(value, this.#position);
    return this;
  }

  text(value: string): this {
    // UTF-8 has at most 3 bytes for a UTF-16 code unit.
    this.#reserve(4 + 3 * value.length);
    const bytes = this.#buffer.write(value, this.#position + 4, 'utf8');
    this.#buffer.writeUInt32LE(bytes, this.#position);
    this.#position += 4 + bytes;
    return this;
  }

  /** `value` must not change later: a large one is not copied. */
  bytes(value: Uint8Array): this {
    this.u32(value.length);
    if (value.length < LARGE_VALUE_BYTES) {
      this.#reserve(value.length);
      this.#buffer.set(value, this.#position);
      this.#position += value.length;
      return this;
    }
    this.#cut();
    this.#push(value);
    return this;
  }

  end(): void {
    this.#lengthIn.writeUInt32LE(this.#total - this.#bodyFrom, this.#lengthAt);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    inNextTurn(() => this.flush());
  }

  /** Sends the frames that have ended. Does nothing if the stream has ended. */
  flush(): void {
    this.#isFlushing = false;
    this.#cut();
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#lastFlush = this.#chunkBytes;
    this.#chunkBytes = 0;
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return;
    if (chunks.length === 1) {
      stream.write(chunks[0]);
      return;
    }
    stream.cork();
    for (const chunk of chunks) stream.write(chunk);
    stream.uncork();
  }

  get #total(): number {
    return this.#moved + this.#position - this.#start;
  }

  #reserve(bytes: number): void {
    if (this.#position + bytes <= this.#buffer.length) return;
    this.#cut();
    const usual = Math.min(Math.max(MIN_BUFFER_BYTES, this.#lastFlush * 2), MAX_BUFFER_BYTES);
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(bytes, usual));
    this.#start = 0;
    this.#position = 0;
  }

  /** Moves the written part of the buffer to the chunks. */
  #cut(): void {
    if (this.#position === this.#start) return;
    this.#push(this.#buffer.subarray(this.#start, this.#position));
    this.#start = this.#position;
  }

  #push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
    this.#moved += chunk.length;
  }
}

/** Reads the values of a frame's body, in the order in which they were written. */
export class FrameBody {
  readonly type: number;
  readonly call: number;
  readonly #bytes: Buffer;
  #position = HEADER_BYTES;

  /** `bytes`: the frame with its length. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.type = bytes.readUInt8(LENGTH_BYTES);
    this.call = bytes.readUInt32LE(LENGTH_BYTES + 1);
  }

  u8(): number {
    const value = this.#bytes.readUInt8(this.#position);
    this.#position += 1;
    return value;
  }

  u32(): number {
    const value = this.#bytes.readUInt32LE(this.#position);
    this.#position += 4;
    return value;
  }

  number(): number {
    const value = this.#bytes.readDoubleLE(this.#position);
    this.#position += 8;
    return value;
  }

  text(): string {
    const bytes = this.u32();
    const end = this.#endOf(bytes);
    const value = this.#bytes.toString('utf8', this.#position, end);
    this.#position = end;
    return value;
  }

  /** Returns a copy, so that it does not keep the frames around it in memory. */
  bytes(): Uint8Array {
    const end = this.#endOf(this.u32());
    const value = new Uint8Array(this.#bytes.subarray(this.#position, end));
    this.#position = end;
    return value;
  }

  #endOf(length: number): number {
    const end = this.#position + length;
    if (end > this.#bytes.length) throw new FrameError('a value is longer than its frame');
    return end;
  }
}

/**
 * Splits the bytes of a stream into frames. Calls `take` for each, which must not keep the body.
 * Throws FrameError, and whatever `take` throws.
 */
export class FrameReader {
  readonly #take: (body: FrameBody) => void;
  /** The beginning of a frame, in pieces. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  /** The number of bytes that are needed to go on. */
  #needed = HEADER_BYTES;

  constructor(take: (body: FrameBody) => void) {
    this.#take = take;
  }

  read(chunk: Buffer): void {
    this.#pieces.push(chunk);
    this.#pieceBytes += chunk.length;
    if (this.#pieceBytes < this.#needed) return;
    const bytes = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces, this.#pieceBytes);
    let position = 0;
    this.#needed = HEADER_BYTES;
    while (bytes.length - position >= HEADER_BYTES) {
      const length = LENGTH_BYTES + bytes.readUInt32LE(position);
      if (length < HEADER_BYTES || length > MAX_FRAME_BYTES)
        throw new FrameError(`a frame cannot have ${length} bytes`);
      if (bytes.length - position < length) {
        this.#needed = length;
        break;
      }
      this.#take(new FrameBody(bytes.subarray(position, position + length)));
      position += length;
    }
    this.#pieces = position === bytes.length ? [] : [bytes.subarray(position)];
    this.#pieceBytes = bytes.length - position;
  }
}
