// A state whose value may be kept as its differences from another value.

import type { KeyValue, Revision } from '../interface.ts';
import type { MadeValue } from '../value.ts';
import { applyDifferences } from './step-reader.ts';

/** Larger values stay as they are: many are packed in one turn of the event loop. */
export const MAX_PACKED_BYTES = 16 * 1024;

/** The place of what readers compare to find out what a value is: behind a header, and short. */
const ALIKE_FROM = 8;
const MAX_ALIKE = 200;

/**
 * Values that are read are cut from one buffer after the other, since a buffer for each costs as
 * much as its bytes. Readers keep none of them for long.
 */
const SLAB_BYTES = 256 * 1024;
let slab = Buffer.allocUnsafeSlow(0);
let slabUsed = 0;

/** Returns memory for a value that is read. */
export function room(length: number): Buffer {
  if (length > SLAB_BYTES / 4) return Buffer.allocUnsafeSlow(length);
  if (slabUsed + length > slab.length) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    slabUsed = 0;
  }
  return slab.subarray(slabUsed, (slabUsed += length));
}

/** The value that was read last: readers read a value several times in a row. */
let lastRead: { readonly kv: HeldKeyValue; readonly value: Uint8Array } | undefined;

/** Values that are read in passing, one at a time. `kv`: the state whose value is there. */
const passing: { readonly bytes: Buffer; kv: HeldKeyValue | undefined } = {
  bytes: Buffer.allocUnsafeSlow(MAX_PACKED_BYTES),
  kv: undefined,
};

/** A state whose value is kept as bytes at first, and later perhaps as differences from a model. */
export class HeldKeyValue implements MadeValue {
  readonly key: string;
  readonly createRevision: Revision;
  readonly modRevision: Revision;
  readonly size: number;
  /** The value, or its model if there are differences. */
  #bytes: Uint8Array;
  #differences: string | undefined;
  /** From ALIKE_FROM to here the value has the bytes of its model. */
  #alikeTo = 0;

  constructor(kv: KeyValue) {
    this.key = kv.key;
    this.createRevision = kv.createRevision;
    this.modRevision = kv.modRevision;
    const { value } = kv;
    this.size = value.length;
    this.#bytes = value;
    this.#differences = undefined;
  }

  get isPacked(): boolean {
    return this.#differences !== undefined;
  }

  /** Keeps these bytes, which are equal. */
  keep(value: Uint8Array): void {
    this.#bytes = value;
  }

  /** Keeps the value as its differences from a model. */
  keepDifferences(model: Uint8Array, differences: string): void {
    const value = this.#bytes;
    let alike = Math.min(ALIKE_FROM, value.length);
    while (alike < MAX_ALIKE && alike < value.length && value[alike] === model[alike]) alike++;
    this.#alikeTo = alike;
    this.#bytes = model;
    this.#differences = differences;
  }

  get value(): Uint8Array {
    if (this.#differences === undefined) return this.#bytes;
    if (lastRead?.kv !== this) lastRead = { kv: this, value: this.start(this.size) };
    return lastRead.value;
  }

  start(length: number, from = 0): Uint8Array {
    if (this.#differences === undefined) return this.#bytes;
    if (from >= ALIKE_FROM && length <= this.#alikeTo) return this.#bytes;
    const target = room(Math.min(length, this.size));
    applyDifferences(this.#differences, this.#bytes, target);
    return target;
  }

  passing(): Uint8Array {
    if (this.#differences === undefined) return this.#bytes;
    if (lastRead?.kv === this) return lastRead.value;
    const target = passing.bytes.subarray(0, this.size);
    if (passing.kv !== this) {
      applyDifferences(this.#differences, this.#bytes, target);
      passing.kv = this;
    }
    return target;
  }

  /** Returns the value in memory that the caller may change, and the next call may overwrite. */
  passingCopy(): Uint8Array {
    const { size } = this;
    const target =
      size <= MAX_PACKED_BYTES ? passing.bytes.subarray(0, size) : Buffer.allocUnsafe(size);
    passing.kv = undefined;
    if (this.#differences === undefined) target.set(this.#bytes);
    else applyDifferences(this.#differences, this.#bytes, target);
    return target;
  }
}
