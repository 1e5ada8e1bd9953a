// The mark of how far writes have been acknowledged, in a small file beside the database.
//
// SQLite takes a write-ahead log to end at the first frame that does not match its checksum: after a crash that is right, since
// only what was never synced can be torn. But a frame that was synced and rotted later looks the same, and everything after it
// would silently be gone. The mark tells the two apart: it is written after the sync of what it names, so wherever it is found,
// that was on the disk.
//
// It is not synced itself. An older mark, or one that was torn, only notices less.

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

  /** The revision marked; undefined if there is no mark, or only a part of one. */
  read(): Revision | undefined {
    if (readSync(this.#file, this.#bytes, 0, MARK_BYTES, 0) < MARK_BYTES) return undefined;
    if (this.#bytes.readUInt32LE(8) !== crc32(this.#bytes.subarray(0, 8))) return undefined;
    return this.#bytes.readDoubleLE(0);
  }

  /** Call after everything up to the revision was synced. */
  write(revision: Revision): void {
    this.#bytes.writeDoubleLE(revision, 0);
    this.#bytes.writeUInt32LE(crc32(this.#bytes.subarray(0, 8)), 8);
    try {
      writeSync(this.#file, this.#bytes, 0, MARK_BYTES, 0);
    } catch {
      // The disk may be full, of the mark's own file system block even. The writes are safe, and the older mark is still true.
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
