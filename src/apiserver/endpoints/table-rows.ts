// The rows of a Table, which may be one for each of 100,000 objects: they are made in slices between
// which the event loop serves other work.

import type { Clock } from '#machinery/clock.ts';
import { stringifyJson } from '#machinery/text/json-integers.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { EncodedObject } from '../request.ts';

/** The limits of a slice: the first decoding and encoding of an object takes up to 0.1 ms. */
const SLICE_MS = 5;
const SLICE_ROWS = 100;

/**
 * Returns the row of each object. Rejects with the signal's reason if it aborts between two slices.
 */
export async function rowsInSlices<Row>(
  objects: readonly EncodedObject[],
  rowOf: (object: EncodedObject) => Row,
  clock: Clock,
  { signal }: { readonly signal: AbortSignal },
): Promise<Row[]> {
  const rows: Row[] = [];
  let sliceEnd = clock.monotonic() + SLICE_MS;
  let left = SLICE_ROWS;
  for (const object of objects) {
    if (left-- === 0 || clock.monotonic() >= sliceEnd) {
      await nextTurn();
      signal.throwIfAborted();
      sliceEnd = clock.monotonic() + SLICE_MS;
      left = SLICE_ROWS;
    }
    rows.push(rowOf(object));
  }
  return rows;
}

/** A row as bytes. Its value is not kept: it is several times as large. */
export class EncodedRow implements EncodedObject {
  readonly #bytes: Buffer;

  constructor(row: unknown) {
    this.#bytes = Buffer.from(stringifyJson(row), 'utf8');
  }

  object(): unknown {
    return JSON.parse(this.#bytes.toString('utf8'));
  }

  jsonLine(): Buffer {
    return Buffer.concat([this.#bytes, Buffer.from('\n')]);
  }

  itemLength(): number {
    return this.#bytes.length;
  }

  copyItem(target: Buffer, offset: number): number {
    return offset + this.#bytes.copy(target, offset);
  }

  protobuf(): Buffer {
    throw new Error('a row of a table has no form in protobuf');
  }
}
