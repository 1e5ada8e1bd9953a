// The head mark: the last acknowledged revision, in a small file beside the database.
//
// SQLite ends its write-ahead log at the first frame whose checksum does not match. After a crash
// that is right, since only unsynced frames can be torn. But a frame that was synced and damaged
// later looks the same, and every later frame would be lost silently. The mark distinguishes the
// two cases: it is written after its revision was synced, so a mark proves that the revision was on
// disk.
//
// The mark itself is not synced. An older or torn mark detects less damage, but never reports any
// by mistake.

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Revision } from '../interface.ts';

const HEAD_MARK_FILE = 'storage.head';

/** A revision (f64) and the CRC-32 of its bytes, little-endian. */
const MARK_BYTES = 12;

export class HeadMark {
  readonly #file: number;
  readonly #bytes = Buffer.alloc(MARK_BYTES);

  private constructor(file: number) {
    this.#file = file;
  }

  static open(dataDir: string): HeadMark {
    return new HeadMark(
      openSync(join(dataDir, HEAD_MARK_FILE), constants.O_RDWR | constants.O_CREAT, 0o600),
    );
  }

  /** Returns the marked revision; undefined if the file is empty or damaged. */
  read(): Revision | undefined {
    if (readSync(this.#file, this.#bytes, 0, MARK_BYTES, 0) < MARK_BYTES) return undefined;
    if (this.#bytes.readUInt32LE(8) !== crc32(this.#bytes.subarray(0, 8))) return undefined;
    return this.#bytes.readDoubleLE(0);
  }

  /** Marks the revision. Call it after everything up to the revision was synced. */
  write(revision: Revision): void {
    this.#bytes.writeDoubleLE(revision, 0);
    this.#bytes.writeUInt32LE(crc32(this.#bytes.subarray(0, 8)), 8);
    try {
      writeSync(this.#file, this.#bytes, 0, MARK_BYTES, 0);
    } catch {
      // The disk may be too full even for the mark. The writes are safe, and the older mark is
      // still true.
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
