// A text that is kept compressed, in pieces that are compressed once and joined often: as gzip
// without compressing again, or as plain text, a few pieces at a time. A piece is a run of raw
// deflate blocks that ends at a byte and does not contain the last block.

import { constants, crc32, deflateRaw, inflateRaw } from 'node:zlib';
import { beginWork } from '../pending-work.ts';
import { combineCrc32 } from './crc32.ts';

export interface DeflatedPiece {
  readonly bytes: Uint8Array;
  /** The length of the plain text, in bytes. */
  readonly length: number;
  readonly crc32: number;
}

/** Memory matters as much as time, since pieces are kept. */
const OPTIONS = { finishFlush: constants.Z_SYNC_FLUSH, level: 6 };

/** Compresses a piece, in a thread of the pool. */
export function deflatePiece(text: Uint8Array): Promise<DeflatedPiece> {
  const checksum = crc32(text);
  const end = beginWork();
  return new Promise((resolve, reject) => {
    deflateRaw(text, OPTIONS, (error, bytes) => {
      end();
      if (error === null) resolve({ bytes: ownCopy(bytes), length: text.length, crc32: checksum });
      else reject(error);
    });
  });
}

/** Copies bytes that are a part of a larger buffer: a long-lived piece must not keep the buffer. */
function ownCopy(bytes: Buffer): Uint8Array {
  return bytes.buffer.byteLength > bytes.length ? new Uint8Array(bytes) : bytes;
}

const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** An empty block that is marked as the last one. */
const LAST_BLOCK = Buffer.from([3, 0]);
const TRAILER_BYTES = 8;
/** The number of bytes that are sent or decompressed at a time. */
const CHUNK_BYTES = 256 * 1024;

export class GzipPieces {
  readonly #pieces: readonly DeflatedPiece[];
  /** The length of the plain text, in bytes. */
  readonly length: number;
  readonly gzipLength: number;

  constructor(pieces: readonly DeflatedPiece[]) {
    this.#pieces = pieces;
    let [length, compressed] = [0, 0];
    for (const piece of pieces) {
      length += piece.length;
      compressed += piece.bytes.length;
    }
    this.length = length;
    this.gzipLength = HEADER.length + compressed + LAST_BLOCK.length + TRAILER_BYTES;
  }

  /** Returns the text as one gzip member, in chunks. */
  *gzip(): Generator<Uint8Array> {
    let pending: Uint8Array[] = [HEADER];
    let bytes = HEADER.length;
    let checksum = 0;
    for (const piece of this.#pieces) {
      checksum = combineCrc32(checksum, piece.crc32, piece.length);
      pending.push(piece.bytes);
      bytes += piece.bytes.length;
      if (bytes < CHUNK_BYTES) continue;
      yield Buffer.concat(pending);
      [pending, bytes] = [[], 0];
    }
    const trailer = Buffer.alloc(TRAILER_BYTES);
    trailer.writeUInt32LE(checksum, 0);
    trailer.writeUInt32LE(this.length % 2 ** 32, 4);
    yield Buffer.concat([...pending, LAST_BLOCK, trailer]);
  }

  /** Returns the plain text, in chunks. */
  async *plain(): AsyncGenerator<Uint8Array> {
    let pending: Uint8Array[] = [];
    let length = 0;
    for (const piece of this.#pieces) {
      pending.push(piece.bytes);
      length += piece.length;
      if (length < CHUNK_BYTES) continue;
      yield await inflated(pending);
      [pending, length] = [[], 0];
    }
    if (pending.length > 0) yield inflated(pending);
  }
}

function inflated(pieces: readonly Uint8Array[]): Promise<Uint8Array> {
  const end = beginWork();
  return new Promise((resolve, reject) => {
    inflateRaw(
      Buffer.concat(pieces),
      { finishFlush: constants.Z_SYNC_FLUSH, chunkSize: CHUNK_BYTES },
      (error, bytes) => {
        end();
        if (error === null) resolve(bytes);
        else reject(error);
      },
    );
  });
}
