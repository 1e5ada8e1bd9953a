// A snapshot of a store as a file: the newest value of every key at one revision, without history.
//
//   COXSNAP1     8 bytes
//   u32          bytes of the header that follows, little-endian
//   the header   JSON, see SnapshotHeader
//   the records  one for each key, in order of revision, as on disk (record.ts), with checksums
//   SHA-256      of everything before
//
// A snapshot is valid only if all of it can be read and the hash matches.

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { type Revision, StorageError } from '../interface.ts';
import type { PendingWrite } from '../mvcc/commit-log.ts';
import { isIntact, RecordWriter, recordLength, sealRecords } from './record.ts';

const MAGIC = Buffer.from('COXSNAP1');
const HASH_BYTES = 32;
const PIECE_BYTES = 1024 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;

export interface SnapshotHeader {
  readonly revision: Revision;
  readonly keys: number;
  /** The length of all records together. */
  readonly recordBytes: number;
  /** The wall-clock time in ms since the epoch. */
  readonly createdAt: number;
}

/** The state of a store at one moment. */
export interface Snapshot {
  readonly revision: Revision;
  /** The newest write of each key that exists, in order of revision. */
  readonly writes: readonly PendingWrite[];
}

export interface SnapshotStatus extends SnapshotHeader {
  /** The SHA-256 of the file without its last 32 bytes, which contain this hash. In hexadecimal. */
  readonly hash: string;
  readonly fileBytes: number;
}

/** Yields the bytes of the file, in pieces. */
export function* encodeSnapshot(snapshot: Snapshot, createdAt: number): Generator<Buffer> {
  const { revision, writes } = snapshot;
  let recordBytes = 0;
  for (const write of writes) recordBytes += RecordWriter.exactSizeOf(write);
  const header: SnapshotHeader = { revision, keys: writes.length, recordBytes, createdAt };
  const hash = createHash('sha256');
  const hashed = (bytes: Uint8Array): Buffer => {
    hash.update(bytes);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  };
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  yield hashed(Buffer.concat([MAGIC, length, text]));
  let writer = new RecordWriter(PIECE_BYTES);
  const piece = (): Buffer => {
    const records = writer.finish();
    for (const _ of sealRecords(records));
    writer = new RecordWriter(PIECE_BYTES);
    return hashed(records);
  };
  for (const write of writes) {
    writer.add(write);
    if (writer.length >= PIECE_BYTES) yield piece();
  }
  if (writer.length > 0) yield piece();
  yield hash.digest();
}

/**
 * Reads the whole file and passes each record to `onRecord`. Throws StorageError Corrupt if the
 * file is not a snapshot, is incomplete, or was changed. The records that were passed before the
 * error must then be discarded.
 */
export async function readSnapshot(
  file: FileHandle,
  name: string,
  onRecord: (revision: Revision, record: Uint8Array) => void = () => {},
): Promise<SnapshotStatus> {
  const { size } = await file.stat();
  const damaged = (problem: string): StorageError =>
    new StorageError('Corrupt', `the snapshot ${name} cannot be used: ${problem}`);
  const reader = new Reader(file, size - HASH_BYTES);
  const start = await reader.take(MAGIC.length + 4);
  if (!start?.subarray(0, MAGIC.length).equals(MAGIC))
    throw damaged('it is not a snapshot of this program');
  const headerBytes = start.readUInt32LE(MAGIC.length);
  const text = headerBytes <= MAX_HEADER_BYTES ? await reader.take(headerBytes) : undefined;
  const header = text === undefined ? undefined : parseHeader(text.toString('utf8'));
  if (header === undefined) throw damaged('its header is damaged');
  if (reader.left !== header.recordBytes) {
    throw damaged(
      `it has ${size} bytes, and should have ${size + header.recordBytes - reader.left}: it was not written to its end`,
    );
  }
  let last = 0;
  for (let key = 0; key < header.keys; key++) {
    const record = await reader.takeRecord();
    const revision =
      record === undefined
        ? 0
        : new DataView(record.buffer, record.byteOffset).getFloat64(12, true);
    if (
      record === undefined ||
      !isIntact(record, revision) ||
      revision <= last ||
      revision > header.revision
    ) {
      throw damaged(`record ${key + 1} of ${header.keys} is damaged`);
    }
    last = revision;
    onRecord(revision, record);
  }
  if (reader.left !== 0) throw damaged('there is more in it than its header says');
  const expected = reader.digest();
  const stored = Buffer.alloc(HASH_BYTES);
  await file.read(stored, 0, HASH_BYTES, size - HASH_BYTES);
  if (!stored.equals(expected)) throw damaged('it does not match its checksum');
  return { ...header, hash: expected.toString('hex'), fileBytes: size };
}

function parseHeader(text: string): SnapshotHeader | undefined {
  try {
    const header = JSON.parse(text) as Record<string, unknown>;
    const [revision, keys, recordBytes, createdAt] = [
      'revision',
      'keys',
      'recordBytes',
      'createdAt',
    ].map((name) => header[name]);
    for (const value of [revision, keys, recordBytes, createdAt])
      if (!Number.isSafeInteger(value)) return undefined;
    return { revision, keys, recordBytes, createdAt } as SnapshotHeader;
  } catch {
    return undefined;
  }
}

/** Reads a file in order, and hashes the bytes that were taken. */
class Reader {
  readonly #file: FileHandle;
  readonly #hash = createHash('sha256');
  readonly #end: number;
  #position = 0;
  #buffer: Buffer = Buffer.alloc(0);
  /** The number of bytes that are not taken yet. */
  left: number;

  constructor(file: FileHandle, end: number) {
    this.#file = file;
    this.#end = end;
    this.left = end;
  }

  /** Returns the next bytes; undefined if the file has fewer. */
  async take(bytes: number): Promise<Buffer | undefined> {
    if (!(await this.#fill(bytes))) return undefined;
    const bytesRead = this.#buffer.subarray(0, bytes);
    this.#buffer = this.#buffer.subarray(bytes);
    this.#hash.update(bytesRead);
    this.left -= bytes;
    return bytesRead;
  }

  async takeRecord(): Promise<Buffer | undefined> {
    if (!(await this.#fill(RecordWriter.HEADER_BYTES))) return undefined;
    return await this.take(recordLength(this.#buffer));
  }

  digest(): Buffer {
    return this.#hash.digest();
  }

  async #fill(bytes: number): Promise<boolean> {
    if (bytes > this.left) return false;
    while (this.#buffer.length < bytes) {
      const piece = Buffer.alloc(
        Math.min(Math.max(PIECE_BYTES, bytes), this.#end - this.#position),
      );
      const { bytesRead } = await this.#file.read(piece, 0, piece.length, this.#position);
      if (bytesRead === 0) return false;
      this.#position += bytesRead;
      this.#buffer = Buffer.concat([this.#buffer, piece.subarray(0, bytesRead)]);
    }
    return true;
  }
}
