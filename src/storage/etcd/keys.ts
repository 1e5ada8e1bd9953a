// Maps keys of the store to keys in etcd: '/registry/…' is placed under the prefix that the
// operator chose. The engine keeps its own keys beside that prefix, where a list of the objects
// does not see them.

import type { KeyValue } from '../interface.ts';
import { withoutMark } from './marks.ts';
import type { EtcdKeyValue } from './schema.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface KeySpaceConfig {
  /** The prefix of keys in the store, such as '/registry'. It may be ''. */
  readonly logicalPrefix: string;
  /** The prefix that replaces it in etcd. Neither prefix ends in '/'. */
  readonly physicalPrefix: string;
}

/** A range of keys: `from` is included, `to` is not. */
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

  /** Returns the range of the keys under the prefix, which ends in '/', and after `startAfter`. */
  rangeOf(prefix: string, startAfter?: string): KeyRange {
    // A prefix that is shorter than the logical prefix, such as '/', covers the whole store.
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

  /**
   * Returns a key of the engine's own. '.' sorts right before '/', so that one range covers these
   * keys and the objects (see everything).
   */
  own(name: string): Uint8Array {
    return encoder.encode(`${this.#physical}.coxswain/${name}`);
  }

  /** The range of every object and of the engine's own keys. */
  get everything(): KeyRange {
    return { from: encoder.encode(`${this.#physical}.`), to: encoder.encode(`${this.#physical}0`) };
  }

  /** Returns the object, without the mark of its value. */
  keyValue(kv: EtcdKeyValue): KeyValue {
    return {
      key: this.decode(kv.key),
      value: withoutMark(kv.value),
      createRevision: kv.createRevision,
      modRevision: kv.modRevision,
    };
  }
}
