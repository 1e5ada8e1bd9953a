// A record: one write as bytes. Records are sent to the worker (many in one buffer, which is
// transferred without a copy), are the rows on disk, and are sent back when the store is opened.
//
//   0  u32  CRC-32 of everything after it; 0 until the worker seals the record
//   4  u32  bytes of the key
//   8  u32  bytes of the value; NO_VALUE: the key is deleted
//  12  f64  revision
//  20  f64  revision at which the key was created; 0 when deleted
//  28  f64  when the key expires, wall-clock ms since the epoch; 0: never
//  36       the key in UTF-8, then the value
//
// All numbers are little-endian.

import { crc32 } from 'node:zlib';
import type { KeyValue, Revision } from '../interface.ts';
import type { PendingWrite } from '../mvcc/commit-log.ts';
import { passingValueOf, sizeOf } from '../value.ts';

const CHECKSUM_BYTES = 4;
const HEADER_BYTES = 36;
const NO_VALUE = 0xffffffff;
const decoder = new TextDecoder();

/** Collects records in one buffer that grows as needed. */
export class RecordWriter {
  #bytes: Buffer<ArrayBuffer>;
  #view: DataView;
  #length = 0;

  constructor(capacity: number) {
    // Every byte that is handed over is written first. The buffer is transferred, so it must not be
    // part of Node's pool.
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** The number of bytes written so far. */
  get length(): number {
    return this.#length;
  }

  static readonly HEADER_BYTES = HEADER_BYTES;

  /** Returns the exact number of bytes that a write takes. */
  static exactSizeOf(write: PendingWrite): number {
    return HEADER_BYTES + Buffer.byteLength(write.key) + (write.kv ? sizeOf(write.kv) : 0);
  }

  /** Returns an upper bound of the bytes that a write takes, without encoding its key. */
  static sizeOf(write: PendingWrite): number {
    return HEADER_BYTES + 3 * write.key.length + (write.kv ? sizeOf(write.kv) : 0);
  }

  add(write: PendingWrite): void {
    this.#reserve(RecordWriter.sizeOf(write));
    const begin = this.#length;
    const keyBegin = begin + HEADER_BYTES;
    const keyBytes = this.#bytes.write(write.key, keyBegin, 'utf8');
    const value = write.kv && passingValueOf(write.kv);
    const view = this.#view;
    view.setUint32(begin, 0, true);
    view.setUint32(begin + 4, keyBytes, true);
    view.setUint32(begin + 8, value?.length ?? NO_VALUE, true);
    view.setFloat64(begin + 12, write.revision, true);
    view.setFloat64(begin + 20, write.kv?.createRevision ?? 0, true);
    view.setFloat64(begin + 28, write.expiresAt ?? 0, true);
    if (value !== undefined) this.#bytes.set(value, keyBegin + keyBytes);
    this.#length = keyBegin + keyBytes + (value?.length ?? 0);
  }

  /**
   * Returns the records, a view of a buffer that may be larger. The writer must not be used
   * afterwards.
   */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/**
 * Writes the checksums of the records in the buffer. Yields each record with its revision, as a
 * view of the buffer.
 */
export function* sealRecords(
  buffer: Uint8Array,
): Generator<{ readonly revision: Revision; readonly record: Uint8Array }> {
  const view = viewOf(buffer);
  for (let at = 0; at < buffer.length;) {
    const end = at + recordBytes(view, at);
    view.setUint32(at, crc32(buffer.subarray(at + CHECKSUM_BYTES, end)), true);
    yield { revision: view.getFloat64(at + 12, true), record: buffer.subarray(at, end) };
    at = end;
  }
}

/** Reports whether these bytes are the undamaged, sealed record of this revision. */
export function isIntact(record: Uint8Array, revision: Revision): boolean {
  if (record.length < HEADER_BYTES) return false;
  const view = viewOf(record);
  if (view.getUint32(0, true) !== crc32(record.subarray(CHECKSUM_BYTES))) return false;
  return recordBytes(view, 0) === record.length && view.getFloat64(12, true) === revision;
}

/** Yields the writes in the buffer. Their values are views of the buffer. */
export function* readWrites(buffer: Uint8Array): Generator<PendingWrite> {
  const view = viewOf(buffer);
  for (let at = 0; at < buffer.length;) {
    const keyBegin = at + HEADER_BYTES;
    const keyEnd = keyBegin + view.getUint32(at + 4, true);
    const end = at + recordBytes(view, at);
    const key = decoder.decode(buffer.subarray(keyBegin, keyEnd));
    const revision = view.getFloat64(at + 12, true);
    const createRevision = view.getFloat64(at + 20, true);
    const deleted = view.getUint32(at + 8, true) === NO_VALUE;
    const kv: KeyValue | undefined = deleted
      ? undefined
      : { key, value: buffer.subarray(keyEnd, end), createRevision, modRevision: revision };
    yield { key, revision, kv, expiresAt: view.getFloat64(at + 28, true) || undefined };
    at = end;
  }
}

function viewOf(buffer: Uint8Array): DataView {
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/**
 * Returns the length of the record at the beginning of the buffer, which must contain at least the
 * header.
 */
export function recordLength(buffer: Uint8Array): number {
  return recordBytes(viewOf(buffer), 0);
}

/** Returns the length of the record at `at`, computed from its header. */
function recordBytes(view: DataView, at: number): number {
  const valueBytes = view.getUint32(at + 8, true);
  return HEADER_BYTES + view.getUint32(at + 4, true) + (valueBytes === NO_VALUE ? 0 : valueBytes);
}
