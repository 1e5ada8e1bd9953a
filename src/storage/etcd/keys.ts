// Where the keys of the store are in etcd: '/registry/…' is under the prefix that the operator chose, and the engine keeps what
// it needs for itself beside it, out of the way of whoever lists the objects.

import type { KeyValue } from '../interface.ts';
import type { EtcdKeyValue } from './schema.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface KeySpaceConfig {
  /** The prefix of keys in the store, such as '/registry'; may be ''. */
  readonly logicalPrefix: string;
  /** The prefix that replaces it in etcd. Neither ends in '/'. */
  readonly physicalPrefix: string;
}

/** Bytes [from, to). */
export interface KeyRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

export class KeySpace {
  readonly #logical: string;
  readonly #physical: string;

  constructor(config: KeySpaceConfig) {
    this.#logical = config.logicalPrefix;
    this.#physical = config.physicalPrefix;
  }

  encode(key: string): Uint8Array {
    if (!key.startsWith(`${this.#logical}/`))
      throw new TypeError(`storage: ${key} is outside of ${this.#logical}/`);
    return encoder.encode(this.#physical + key.slice(this.#logical.length));
  }

  decode(bytes: Uint8Array): string {
    return this.#logical + decoder.decode(bytes).slice(this.#physical.length);
  }

  /** The keys under the prefix, which ends in '/', and after `startAfter`. */
  rangeOf(prefix: string, startAfter?: string): KeyRange {
    // '/' is all there is, when keys begin with more than that.
    const within = `${this.#logical}/`.startsWith(prefix) ? `${this.#logical}/` : prefix;
    const begin = this.encode(within);
    const to = begin.slice();
    to[to.length - 1] = 0x30; // '0' follows '/'
    if (startAfter === undefined) return { from: begin, to };
    const after = encoder.encode(`${this.#physical}${startAfter.slice(this.#logical.length)}\0`);
    const compared = Buffer.compare(after, begin);
    if (compared <= 0) return { from: begin, to };
    return Buffer.compare(after, to) >= 0 ? { from: to, to } : { from: after, to };
  }

  /** A key of the engine's own: '.' sorts right before '/', so that one range has these and the objects (see everything). */
  own(name: string): Uint8Array {
    return encoder.encode(`${this.#physical}.coxswain/${name}`);
  }

  /** Every object, and the engine's own keys. */
  get everything(): KeyRange {
    return { from: encoder.encode(`${this.#physical}.`), to: encoder.encode(`${this.#physical}0`) };
  }

  keyValue(kv: EtcdKeyValue): KeyValue {
    return {
      key: this.decode(kv.key),
      value: kv.value,
      createRevision: kv.createRevision,
      modRevision: kv.modRevision,
    };
  }
}
