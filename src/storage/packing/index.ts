// Keeps the values of a store in less memory. Most bytes of a pod are those of every other pod of its
// template, so a value is kept as its differences from a similar one, the model: some hundred bytes
// instead of six thousand. It is put together again each time it is read, in two or three
// microseconds.
//
// Values are compared with the latest model of the same stem, which is the key without what follows
// the last hyphen of its name, and with the latest one of the same directory.

import { LruCache } from '#machinery/collections/lru.ts';
import type { KeyValue, Revision } from '../interface.ts';
import type { MadeValue } from '../value.ts';
import { Model } from './differences.ts';
import { applyDifferences } from './step-reader.ts';

/** How a store keeps values. */
export interface ValuePacking {
  /** Returns a new state, whose value `pack` may keep in less memory later. */
  hold(kv: KeyValue): KeyValue;
  /**
   * Keeps the value of a state in less memory if possible; a state that `hold` has not returned stays
   * as it is. Idempotent.
   */
  pack(kv: KeyValue): void;
  /** Returns a state that is read at the start, which packing all values would delay. */
  holdRestored(kv: KeyValue): KeyValue;
}

/** Keeps each value by itself: the plain form. */
export const plainValues: ValuePacking = {
  hold: (kv) => kv,
  pack: () => undefined,
  holdRestored: (kv) => kv,
};

/** Smaller values stay as they are: what is saved would be little. */
const MIN_BYTES = 256;
/** Larger values stay as they are: many are packed in one turn of the event loop. */
const MAX_BYTES = 16 * 1024;
/** Differences that are more than this part of the value are not worth their reads. */
const MAX_PART = 1 / 3;
/** A model that is so many times as long as a value is not its model: it stays in memory with the value. */
const MAX_MODEL_LENGTHS = 4;
/** A value may keep so many other bytes in memory: those of one slab of Node's. */
const MAX_OTHER_BYTES = 8192;
/** Bytes of values that a start leaves as they are: packing those of 150,000 pods takes four seconds. */
const PLAIN_BYTES = 1.5 * 2 ** 30;
/** Models that others are compared with. The bytes of others stay as long as values need them. */
const MODELS = 1024;

export class SimilarValues implements ValuePacking {
  /** By stem and by directory. */
  readonly #models = new LruCache<string, Model>({ capacity: MODELS });
  #plainBytes: number;

  /** `plainBytes`: of restored values that are kept as they are, before others are packed. */
  constructor(plainBytes: number = PLAIN_BYTES) {
    this.#plainBytes = plainBytes;
  }

  hold(kv: KeyValue): KeyValue {
    return new HeldKeyValue(kv);
  }

  holdRestored(kv: KeyValue): KeyValue {
    if (this.#plainBytes > 0) {
      this.#plainBytes -= kv.value.length;
      return kv;
    }
    const held = new HeldKeyValue(kv);
    this.pack(held);
    return held;
  }

  pack(kv: KeyValue): void {
    if (!(kv instanceof HeldKeyValue) || kv.isPacked) return;
    const { key, value } = kv;
    if (value.length < MIN_BYTES || value.length > MAX_BYTES) {
      kv.keep(ownBytes(value));
      return;
    }
    const slash = key.lastIndexOf('/');
    const directory = key.slice(0, slash + 1);
    const stem = key.slice(0, Math.max(slash, key.lastIndexOf('-')) + 1);
    const limit = Math.floor(value.length * MAX_PART);
    const own = this.#models.get(stem);
    const others = stem === directory ? undefined : this.#models.get(directory);
    for (const model of own === others ? [own] : [own, others]) {
      if (model === undefined || model.bytes.length > value.length * MAX_MODEL_LENGTHS) continue;
      const differences = model.differences(value, limit);
      if (differences === undefined) continue;
      kv.keepDifferences(model.bytes, differences);
      return;
    }
    const kept = ownBytes(value);
    kv.keep(kept);
    const model = new Model(kept);
    this.#models.set(stem, model);
    if (stem !== directory) this.#models.set(directory, model);
  }
}

/** Returns the same bytes, which do not keep a large buffer in memory. */
function ownBytes(value: Uint8Array): Uint8Array {
  if (value.buffer.byteLength <= value.length + MAX_OTHER_BYTES) return value;
  // Node's pool would give a part of another large buffer.
  const own = Buffer.allocUnsafeSlow(value.length);
  own.set(value);
  return own;
}

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

function room(length: number): Buffer {
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
  bytes: Buffer.allocUnsafeSlow(MAX_BYTES),
  kv: undefined,
};

/** A state whose value is kept as bytes at first, and later perhaps as differences from a model. */
class HeldKeyValue implements MadeValue {
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
}
