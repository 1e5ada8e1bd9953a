// Decoded objects, kept so that get, list and watch decode a state of an object at most once between them. Bounded by the
// bytes of the states it holds; the least recently used half goes first.

import type { KubeObject } from '../../client/client.ts';
import type { KeyValue } from '../../storage/interface.ts';
import { StoredObject } from './encoded-object.ts';
import type { ObjectFormat } from './encoded-object.ts';

export interface ObjectCacheConfig {
  readonly format: ObjectFormat;
  /** Stored bytes of the objects kept, at most. Default: 16 MiB. */
  readonly limitBytes?: number;
}

export class ObjectCache {
  readonly #format: ObjectFormat;
  readonly #limitBytes: number;
  /** By storage key: the newest state that was seen. A state moves from old to young when it is used. */
  #young = new Map<string, StoredObject>();
  #old = new Map<string, StoredObject>();
  /** Bytes of #young's values; when it passes half the limit, #old is dropped and #young becomes #old. */
  #youngBytes = 0;

  constructor(config: ObjectCacheConfig) {
    this.#format = config.format;
    this.#limitBytes = config.limitBytes ?? 16 * 1024 * 1024;
  }

  /** The object of this state, decoded already if somebody did. */
  of(kv: KeyValue): StoredObject {
    const known = this.#find(kv.key);
    if (known !== undefined && known.kv.modRevision === kv.modRevision) return known;
    return new StoredObject(this.#format, kv, { onDecode: this.#keep });
  }

  /** Keeps a state that was just written, whose object is at hand. */
  written(kv: KeyValue, object: KubeObject): StoredObject {
    const stored = new StoredObject(this.#format, kv, { object });
    this.#keep(stored);
    return stored;
  }

  /** The newest state that was seen of a key. It may be out of date: good for a first guess only. */
  latest(key: string): KeyValue | undefined {
    return this.#find(key)?.kv;
  }

  forget(key: string): void {
    const known = this.#young.get(key);
    if (known !== undefined) {
      this.#youngBytes -= known.kv.value.length;
      this.#young.delete(key);
    }
    this.#old.delete(key);
  }

  #find(key: string): StoredObject | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.#add(old);
    return old;
  }

  readonly #keep = (stored: StoredObject): void => {
    const known = this.#find(stored.kv.key);
    // A reader of the past must not push out what others read now.
    if (known !== undefined && known.kv.modRevision >= stored.kv.modRevision) return;
    if (known !== undefined) this.#youngBytes -= known.kv.value.length;
    this.#add(stored);
  };

  #add(stored: StoredObject): void {
    this.#young.set(stored.kv.key, stored);
    this.#youngBytes += stored.kv.value.length;
    if (this.#youngBytes * 2 <= this.#limitBytes) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }
}
