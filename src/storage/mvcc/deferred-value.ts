// The state of a key whose value is made when it is first read. Most of the writes that are made up
// for in one go (see beats.ts) are compacted again without being read.

import type { KeyValue, Revision } from '../interface.ts';
import type { MadeValue } from '../value.ts';

export class DeferredKeyValue implements MadeValue {
  readonly key: string;
  readonly createRevision: Revision;
  readonly modRevision: Revision;
  /** The number of bytes of the value. */
  readonly size: number;
  #make: (() => Uint8Array) | undefined;
  #value: Uint8Array | undefined;

  /** `make` must return `size` bytes, the same whenever it is called. */
  constructor(kv: Omit<KeyValue, 'value'>, size: number, make: () => Uint8Array) {
    this.key = kv.key;
    this.createRevision = kv.createRevision;
    this.modRevision = kv.modRevision;
    this.size = size;
    this.#make = make;
  }

  get value(): Uint8Array {
    if (this.#make !== undefined) {
      this.#value = this.#make();
      this.#make = undefined;
    }
    return this.#value as Uint8Array;
  }

  start(): Uint8Array {
    return this.value;
  }

  passing(): Uint8Array {
    return this.value;
  }
}
