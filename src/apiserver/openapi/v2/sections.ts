// Encodes entries of an OpenAPI v2 document in steps, and keeps them compressed.

import { createHash } from 'node:crypto';
import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import { type DeflatedPiece, deflatePiece } from '#machinery/streams/gzip-pieces.ts';
import type { WaitingSteps } from '#machinery/turn.ts';

/** Encoded entries of one of the maps of a document. */
export interface Section {
  readonly pieces: readonly DeflatedPiece[];
  /** The length of the uncompressed bytes. */
  readonly length: number;
  /** The SHA-256 of the uncompressed bytes. */
  readonly digest: Uint8Array;
}

/** The approximate sizes in bytes of an encoding step and of a compressed piece. */
const [STEP_BYTES, PIECE_BYTES] = [16 * 1024, 128 * 1024];

export function* encodeSection(
  entries: Iterable<readonly [key: string, value: OpenApiSchema]>,
  encode: (key: string, value: OpenApiSchema, isFirst: boolean) => Uint8Array,
  isFirst: boolean,
): WaitingSteps<Section> {
  const hash = createHash('sha256');
  const pieces: Promise<DeflatedPiece>[] = [];
  let length = 0;
  let [pending, bytes]: [Uint8Array[], number] = [[], 0];
  const finishPiece = (): void => {
    const text = Buffer.concat(pending);
    [pending, bytes] = [[], 0];
    hash.update(text);
    length += text.length;
    pieces.push(deflatePiece(text));
  };
  let step = 0;
  let first = isFirst;
  for (const [key, value] of entries) {
    const entry = encode(key, value, first);
    first = false;
    pending.push(entry);
    bytes += entry.length;
    step += entry.length;
    if (bytes >= PIECE_BYTES) finishPiece();
    if (step < STEP_BYTES) continue;
    step = 0;
    yield;
  }
  if (bytes > 0) finishPiece();
  return { pieces: (yield Promise.all(pieces)) as DeflatedPiece[], length, digest: hash.digest() };
}
