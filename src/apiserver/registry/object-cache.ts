// Decoded objects, kept so that get, list and watch decode a state of an object at most once between them. Bounded by the
// bytes of the states it holds; the least recently used half goes first.
//
// The bound follows the use: it grows while states are decoded that might have been kept, and shrinks while those that are kept go
// without having been asked for again. Pods are read again and again in their first seconds; thousands of new ConfigMaps in the
// heap that nobody reads as objects are only work for the garbage collector.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import { deepFreeze } from '#machinery/deep.ts';
import type { KeyValue } from '#storage/interface.ts';
import { StoredObject } from './encoded-object.ts';
import type { DecodedObject, DecodedObjects, ObjectFormat } from './encoded-object.ts';

export interface ObjectCacheConfig {
  readonly format: ObjectFormat;
  /** Stored bytes of the objects kept, at most; if they are not used, less. Default: 32 MiB. */
  readonly limitBytes?: number;
  /** Freeze what is handed out, so that whoever changes it is found out. For tests. */
  readonly freeze?: boolean;
}

interface Entry extends DecodedObject {
  readonly revision: number;
  readonly bytes: number;
  /** The state before it, if that was here: watchers hear of a change after its maker has gone on to the next. */
  previous: Entry | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The bound where nothing is asked for again, and what it begins with. */
const MIN_LIMIT_BYTES = 256 * 1024;
const FIRST_LIMIT_BYTES = 1024 * 1024;

export class ObjectCache implements DecodedObjects {
  readonly #format: ObjectFormat;
  readonly #maxLimitBytes: number;
  #limitBytes: number;
  readonly #freeze: boolean;
  /** By storage key: the newest state that was decoded. A state moves from old to young when it is used. */
  #young = new Map<string, Entry>();
  #old = new Map<string, Entry>();
  /** Bytes that have gone into #young; when they pass half the limit, #old is dropped and #young becomes #old. */
  #youngBytes = 0;
  /** Since #young began: states that were decoded though they are their objects' newest, and those that were used when they had become old. */
  #missed = 0;
  #reused = 0;
  /** What values were encoded from, until somebody reads them back as an object. */
  readonly #unread = new WeakMap<Uint8Array, KubeObject>();
  /** By the stored bytes of the state: as long as the storage has those, somebody may ask for these. */
  readonly #protobuf = new WeakMap<Uint8Array, { readonly revision: number; readonly bytes: Buffer }>();

  constructor(config: ObjectCacheConfig) {
    this.#format = config.format;
    this.#maxLimitBytes = config.limitBytes ?? 32 * 1024 * 1024;
    this.#limitBytes = Math.min(FIRST_LIMIT_BYTES, this.#maxLimitBytes);
    this.#freeze = config.freeze ?? false;
  }

  /** Stored bytes of the objects kept, at most, as of now. */
  get limitBytes(): number {
    return this.#limitBytes;
  }

  /** The object of this state. */
  of(kv: KeyValue): StoredObject {
    return new StoredObject(this.#format, this, kv);
  }

  /**
   * The bytes to store. Whoever reads them first, a watcher or who wrote them, does not have to decode them. An object that is created is
   * given away: it becomes the state, with its resourceVersion.
   */
  encode(object: KubeObject): Uint8Array {
    const value = this.#format.encode(object);
    this.#unread.set(value, object);
    return value;
  }

  /** The object of a state that was just written; kept for those who read it next. */
  written(kv: KeyValue): StoredObject {
    this.objectOf(kv);
    return this.of(kv);
  }

  objectOf(kv: KeyValue): DecodedObject {
    const known = this.#find(kv.key);
    for (let entry = known; entry !== undefined; entry = entry.previous) if (entry.revision === kv.modRevision) return entry;
    const unread = this.#takeUnread(kv);
    const object = this.#shared(unread ?? decodeFromStorage<KubeObject>(kv.value, kv.modRevision));
    // A reader of the past must not push out what others read now.
    if (known !== undefined && known.revision > kv.modRevision) return { object, fields: undefined };
    if (unread === undefined) this.#missed++;
    return this.#keep(kv, object, known);
  }

  protobufOf(kv: KeyValue): Buffer {
    const known = this.#protobuf.get(kv.value);
    if (known?.revision === kv.modRevision) return known.bytes;
    const encoded = this.#format.encodeProtobuf(this.objectOf(kv).object);
    // Not from Node's pool: it is kept for as long as the state is stored, and would keep its whole slab.
    const bytes = Buffer.allocUnsafeSlow(encoded.length);
    bytes.set(encoded);
    this.#protobuf.set(kv.value, { revision: kv.modRevision, bytes });
    return bytes;
  }

  forget(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  #shared(object: KubeObject): KubeObject {
    return this.#freeze ? deepFreeze(object) : object;
  }

  #takeUnread({ value, createRevision, modRevision }: KeyValue): KubeObject | undefined {
    const object: Mutable<KubeObject> | undefined = this.#unread.get(value);
    if (object === undefined) return undefined;
    this.#unread.delete(value);
    // What an object begins as was made for that alone (see fillForCreate); later states may share their parts with those before.
    // Copied first, then changed: a literal that names members beside what it spreads is several times as slow to make.
    const isNew = createRevision === modRevision;
    const metadata: Mutable<KubeObject['metadata']> = isNew ? object.metadata : { ...object.metadata };
    metadata.resourceVersion = String(modRevision);
    const state = isNew ? object : { ...object };
    state.kind = this.#format.kind;
    state.apiVersion = this.#format.apiVersion;
    state.metadata = metadata;
    return state;
  }

  #keep(kv: KeyValue, object: KubeObject, previous: Entry | undefined): Entry {
    // Not a chain without end.
    if (previous?.previous !== undefined) previous.previous.previous = undefined;
    const entry: Entry = { revision: kv.modRevision, bytes: kv.value.length, object, fields: undefined, previous };
    this.#add(kv.key, entry);
    return entry;
  }

  #find(key: string): Entry | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.#reused++;
    this.#add(key, old);
    return old;
  }

  #add(key: string, entry: Entry): void {
    this.#young.set(key, entry);
    this.#youngBytes += entry.bytes;
    if (this.#youngBytes * 2 <= this.#limitBytes) return;
    this.#followUse();
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  /** Called when #old is to go. */
  #followUse(): void {
    const unused = this.#old.size;
    if (this.#missed > unused / 2) this.#limitBytes = Math.min(2 * this.#limitBytes, this.#maxLimitBytes);
    else if (this.#missed + this.#reused < unused / 8) {
      this.#limitBytes = Math.max(this.#limitBytes / 2, Math.min(MIN_LIMIT_BYTES, this.#maxLimitBytes));
    }
    this.#missed = 0;
    this.#reused = 0;
  }
}
