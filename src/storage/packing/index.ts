// Keeps the values of a store in less memory. Most bytes of a pod are those of every other pod of its
// template, so a value is kept as its differences from a similar one, the model: some hundred bytes
// instead of six thousand. It is put together again each time it is read, in two or three
// microseconds.
//
// Values are compared with the latest model of the same stem, which is the key without what follows
// the last hyphen of its name, and with the latest one of the same directory.

import { LruCache } from '#machinery/collections/lru.ts';
import type { KeyValue, Revision, ValuePatch } from '../interface.ts';
import { Model } from './differences.ts';
import { HeldKeyValue, MAX_PACKED_BYTES } from './held-value.ts';
import { PatchedKeyValue, patchedValue } from './patched-value.ts';

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
  /** Returns the state that the patch makes of another one. */
  patch(current: KeyValue, patch: ValuePatch, revision: Revision): KeyValue;
}

/** Keeps each value by itself: the plain form. */
export const plainValues: ValuePacking = {
  hold: (kv) => kv,
  pack: () => undefined,
  holdRestored: (kv) => kv,
  patch: (current, patch, modRevision) => ({
    key: current.key,
    value: patchedValue(current, patch),
    createRevision: current.createRevision,
    modRevision,
  }),
};

/** Smaller values stay as they are: what is saved would be little. */
const MIN_BYTES = 256;
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

  patch(current: KeyValue, patch: ValuePatch, revision: Revision): KeyValue {
    const base =
      current instanceof PatchedKeyValue && current.places === patch.places
        ? current.base
        : current;
    return base instanceof HeldKeyValue
      ? new PatchedKeyValue(base, patch, revision)
      : this.hold(plainValues.patch(current, patch, revision));
  }

  pack(kv: KeyValue): void {
    if (!(kv instanceof HeldKeyValue) || kv.isPacked) return;
    const { key, value } = kv;
    if (value.length < MIN_BYTES || value.length > MAX_PACKED_BYTES) {
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
