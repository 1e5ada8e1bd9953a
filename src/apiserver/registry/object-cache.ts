// Maps stored states to objects, and written objects to states. States in another version than the
// served one are converted when they are read. This may be asynchronous; all states of one read are
// converted in one call.
//
// Decoded objects are cached, so that get, list and watch together decode and convert a state at
// most once. The cache is bounded by the bytes of its states; the least recently used half is
// evicted first.
//
// The bound adapts to the use. It grows while states are decoded that a larger cache would have
// kept, and shrinks while cached ones are evicted unused. Pods are read often in their first
// seconds. Thousands of new ConfigMaps that are not read as objects would only be work for the
// garbage collector.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ProtobufCodec } from '#api/machinery/codec/object-codec.ts';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { deepFreeze } from '#machinery/deep.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { DecodedValues, KeyValue } from '#storage/interface.ts';
import { sizeOf } from '#storage/value.ts';
import {
  ConvertedObject,
  type DecodedObject,
  type ObjectFormat,
  type ServedObject,
  type StateDecoder,
  StoredObject,
} from './encoded-object.ts';
import { convertObject, convertObjects, type ObjectConverter } from './object-converter.ts';

export interface ObjectCacheConfig {
  /** The format of served objects. */
  readonly format: ObjectFormat;
  /** The format of written states. Default: `format`. */
  readonly storedFormat?: ObjectFormat;
  /**
   * Converts states in other versions to the served one, and objects to the stored version.
   * Default: there is only one version.
   */
  readonly converter?: ObjectConverter;
  /** See ResourceStoreConfig. */
  readonly normalize?: Normalize;
  /**
   * The maximum number of stored bytes of cached objects; less if they are not used. Default: 32
   * MiB.
   */
  readonly limitBytes?: number;
  /** Freezes returned objects, so that modifying one throws. For tests. */
  readonly freeze?: boolean;
  /** See Storage. Also has objects that this cache has evicted and something else keeps. */
  readonly decoded?: DecodedValues;
}

/** Returns the object to serve; the same object if nothing changes. Must not modify the object. */
export type Normalize = (object: KubeObject) => KubeObject;

interface Entry extends DecodedObject {
  readonly revision: number;
  readonly bytes: number;
  /**
   * The previous state, if it was cached: watchers may receive a change after its writer has made
   * the next one.
   */
  previous: Entry | undefined;
  /** The converted state, if its bytes are in another version. */
  converted: ConvertedObject | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The initial bound, which is also the minimum. */
const MIN_LIMIT_BYTES = 256 * 1024;
const FIRST_LIMIT_BYTES = 1024 * 1024;
/** The number of states that are decoded for conversion in one turn of the event loop. */
const SLICE = 250;

export class ObjectCache implements StateDecoder {
  readonly #format: ObjectFormat;
  readonly #storedFormat: ObjectFormat;
  readonly #converter: ObjectConverter | undefined;
  readonly #normalize: Normalize | undefined;
  /** Values, and states, that are already normalized, if there is something to normalize. */
  readonly #normal = new WeakSet<Uint8Array | KeyValue>();
  readonly #maxLimitBytes: number;
  #limitBytes: number;
  readonly #freeze: boolean;
  readonly #decoded: DecodedValues | undefined;
  /**
   * The newest decoded state by storage key. A state is moved from old to young when it is used.
   */
  #young = new Map<string, Entry>();
  #old = new Map<string, Entry>();
  /**
   * Bytes that were added to #young. When they exceed half the limit, #old is dropped and #young
   * becomes #old.
   */
  #youngBytes = 0;
  /**
   * The number of states since #young began that were decoded although they are the newest of their
   * objects, and of states that were used when they were old.
   */
  #missed = 0;
  #reused = 0;
  /**
   * The objects, in the stored version, from which values were encoded. An entry is removed when it
   * is read.
   */
  readonly #encodedFrom = new WeakMap<Uint8Array, KubeObject>();
  /**
   * Protobuf encodings by the state, kept as long as the storage keeps it.
   */
  readonly #protobuf = new WeakMap<KeyValue, Buffer>();

  constructor(config: ObjectCacheConfig) {
    this.#format = config.format;
    this.#storedFormat = config.storedFormat ?? config.format;
    this.#converter = config.converter;
    this.#normalize = config.normalize;
    this.#maxLimitBytes = config.limitBytes ?? 32 * 1024 * 1024;
    this.#limitBytes = Math.min(FIRST_LIMIT_BYTES, this.#maxLimitBytes);
    this.#freeze = config.freeze ?? false;
    this.#decoded = config.decoded;
  }

  /** The current limit of stored bytes of cached objects. */
  get limitBytes(): number {
    return this.#limitBytes;
  }

  /** True if objects are written in the served version. */
  get storesServedVersion(): boolean {
    return this.#storedFormat.apiVersion === this.#format.apiVersion;
  }

  /** Reports whether the state is in the version in which objects are written now. */
  isStoredVersion(kv: KeyValue): boolean {
    return this.#storedFormat.isVersionOf(kv);
  }

  /** Returns the object of the state. Throws or rejects with ConversionError. */
  read(kv: KeyValue): Awaitable<ServedObject> {
    return this.readNow(kv) ?? andThen(this.#convertStates([kv]), ([object]) => object!);
  }

  /**
   * Returns the objects of the states, in order. All conversions are made in one call. Throws or
   * rejects with ConversionError.
   */
  readAll(kvs: readonly KeyValue[]): Awaitable<readonly ServedObject[]> {
    const objects: (ServedObject | undefined)[] = [];
    let isComplete = true;
    for (const kv of kvs) {
      const object = this.readNow(kv);
      isComplete &&= object !== undefined;
      objects.push(object);
    }
    if (isComplete) return objects as ServedObject[];
    const missing = kvs.filter((_, index) => objects[index] === undefined);
    return andThen(this.#convertStates(missing), (converted) => {
      let next = 0;
      return objects.map((object) => object ?? converted[next++]!);
    });
  }

  /** Returns the object of the state; undefined if the state must be converted first. */
  readNow(kv: KeyValue): ServedObject | undefined {
    if (this.#isServedForm(kv)) return new StoredObject(this.#format, this, kv);
    return stateOf(this.#find(kv.key), kv)?.converted;
  }

  /**
   * Returns the object of the state; undefined if it is in another version than the served one. The
   * result depends only on the state.
   */
  readServedVersion(kv: KeyValue): KubeObject | undefined {
    if (!this.#format.isVersionOf(kv)) return undefined;
    const { object } = this.decode(kv);
    return this.#normalize === undefined || this.#isNormal(kv) ? object : this.#normalize(object);
  }

  /** Reports whether the state's bytes can be served directly. */
  #isServedForm(kv: KeyValue): boolean {
    return this.#format.isVersionOf(kv) && (this.#normalize === undefined || this.#isNormal(kv));
  }

  #isNormal(kv: KeyValue): boolean {
    return this.#normal.has(kv) || this.#normal.has(kv.value);
  }

  /**
   * Returns the bytes to store. The first reader of the state (a watcher or the writer) need not
   * decode them. A new object becomes the cached state and gets a resourceVersion, so the caller
   * must not use it afterwards. Throws or rejects with ConversionError.
   */
  encode(object: KubeObject): Awaitable<Uint8Array> {
    if (this.storesServedVersion) return this.#encodeStored(object);
    const { kind, apiVersion } = this.#format;
    const identified = { ...object, kind, apiVersion };
    return andThen(
      convertObject(this.#converter, identified, this.#storedFormat.apiVersion),
      (converted) => this.#encodeStored(converted),
    );
  }

  /**
   * Returns the object of a state that was just written, and caches it. Throws or rejects with
   * ConversionError.
   */
  written(kv: KeyValue): Awaitable<ServedObject> {
    if (this.storesServedVersion) this.decode(kv);
    // The storage may keep the value in another form later.
    if (this.#normal.has(kv.value)) this.#normal.add(kv);
    return this.read(kv);
  }

  /** Decodes a state in the served version. */
  decode(kv: KeyValue): DecodedObject {
    const newest = this.#find(kv.key);
    const cached = stateOf(newest, kv);
    if (cached !== undefined) return cached;
    const encodedFrom = this.#takeEncodedFrom(kv) ?? this.#decodedElsewhere(kv);
    const object = this.#shared(
      encodedFrom ?? decodeFromStorage<KubeObject>(kv.value, kv.modRevision),
    );
    this.#decoded?.set(kv.value, new WeakRef(object));
    // A reader of an old state must not evict the newest one.
    if (newest !== undefined && newest.revision > kv.modRevision) return { object };
    if (encodedFrom === undefined) this.#missed++;
    return this.#keep(kv, object, newest);
  }

  /** Reports whether the object of the state is in memory. */
  isDecoded(kv: KeyValue): boolean {
    return stateOf(this.#find(kv.key), kv) !== undefined || this.#encodedFrom.has(kv.value);
  }

  /** Returns the protobuf of a state. `codec`: the codec of the kind of this cache. */
  encodeProtobuf(kv: KeyValue, codec: ProtobufCodec): Buffer {
    const cached = this.#protobuf.get(kv);
    if (cached !== undefined) return cached;
    const encoded = codec.encode(this.decode(kv).object);
    // The buffer is outside of Node's pool: it lives as long as the state, and would keep the
    // pool's whole slab in memory.
    const bytes = Buffer.allocUnsafeSlow(encoded.length);
    bytes.set(encoded);
    this.#protobuf.set(kv, bytes);
    return bytes;
  }

  forget(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  #encodeStored(object: KubeObject): Uint8Array {
    const value = this.#storedFormat.encode(object);
    this.#encodedFrom.set(value, object);
    if (this.#normalize !== undefined && this.storesServedVersion) this.#normal.add(value);
    return value;
  }

  /**
   * Converts states in other versions, and normalizes states in the served one. Duplicate states
   * are read once.
   */
  #convertStates(kvs: readonly KeyValue[]): Awaitable<readonly ServedObject[]> {
    const states = new Map(kvs.map((kv) => [stateKey(kv), kv]));
    const distinct = [...states.values()];
    return andThen(this.#decodeStates(distinct), (stored) => {
      const served = new Map<string, ServedObject>();
      const others: KeyValue[] = [];
      const toConvert: KubeObject[] = [];
      for (const [index, kv] of distinct.entries()) {
        const object = stored[index]!;
        if (this.#format.isVersionOf(kv)) {
          served.set(stateKey(kv), this.#keepNormalized(kv, object));
        } else {
          others.push(kv);
          toConvert.push(object);
        }
      }
      return andThen(
        convertObjects(this.#converter, toConvert, this.#format.apiVersion, true),
        (objects) => {
          for (const [index, kv] of others.entries())
            served.set(stateKey(kv), this.#keepConverted(kv, objects[index]!));
          return kvs.map((kv) => served.get(stateKey(kv))!);
        },
      );
    });
  }

  /**
   * Returns the objects of states as they are stored. Many are decoded in several turns of the
   * event loop.
   */
  #decodeStates(kvs: readonly KeyValue[]): Awaitable<readonly KubeObject[]> {
    const decode = (kv: KeyValue): KubeObject => {
      const object = this.#shared(
        this.#takeEncodedFrom(kv) ?? decodeFromStorage<KubeObject>(kv.value, kv.modRevision),
      );
      if (this.#normalize === undefined || !this.#format.isVersionOf(kv)) return object;
      const normalized = this.#normalize(object);
      if (normalized === object) this.#normal.add(kv);
      return normalized;
    };
    if (kvs.length <= SLICE) return kvs.map(decode);
    const inSlices = async (): Promise<readonly KubeObject[]> => {
      const objects: KubeObject[] = [];
      for (const kv of kvs) {
        if (objects.length % SLICE === SLICE - 1) await nextTurn();
        objects.push(decode(kv));
      }
      return objects;
    };
    return inSlices();
  }

  /** Caches a state after normalization. `object`: the normalized object. */
  #keepNormalized(kv: KeyValue, object: KubeObject): ServedObject {
    return this.#isNormal(kv)
      ? new StoredObject(this.#format, this, kv)
      : this.#keepConverted(kv, object);
  }

  #keepConverted(kv: KeyValue, converted: KubeObject): ConvertedObject {
    const object = this.#shared(withRevision(converted, kv.modRevision));
    const newest = this.#find(kv.key);
    if (newest !== undefined && newest.revision > kv.modRevision)
      return new ConvertedObject(kv, { object });
    this.#missed++;
    // Another reader may have converted it in the meantime.
    const previous = newest?.revision === kv.modRevision ? newest.previous : newest;
    const entry = this.#keep(kv, object, previous);
    entry.converted = new ConvertedObject(kv, entry);
    return entry.converted;
  }

  /** Returns the object if a reader of the same value, perhaps in a fork, still has it. */
  #decodedElsewhere({ value, modRevision }: KeyValue): KubeObject | undefined {
    const object = this.#decoded?.get(value)?.deref() as KubeObject | undefined;
    // A value does not contain its revision, which the object has.
    return object?.metadata.resourceVersion === String(modRevision) ? object : undefined;
  }

  #shared(object: KubeObject): KubeObject {
    return this.#freeze ? deepFreeze(object) : object;
  }

  /**
   * Returns the object from which the state was encoded, in the stored version; undefined if it was
   * read before, or another process wrote the state.
   */
  #takeEncodedFrom({ value, createRevision, modRevision }: KeyValue): KubeObject | undefined {
    const object: Mutable<KubeObject> | undefined = this.#encodedFrom.get(value);
    if (object === undefined) return undefined;
    this.#encodedFrom.delete(value);
    // A new object was created for this state alone (see fillForCreate); later states may share
    // parts with earlier ones. It is copied first and then changed, which is several times as fast
    // as an object literal with a spread and further members.
    const isNew = createRevision === modRevision;
    const metadata: Mutable<KubeObject['metadata']> = isNew
      ? object.metadata
      : { ...object.metadata };
    metadata.resourceVersion = String(modRevision);
    const state = isNew ? object : { ...object };
    state.kind = this.#storedFormat.kind;
    state.apiVersion = this.#storedFormat.apiVersion;
    state.metadata = metadata;
    return state;
  }

  #keep(kv: KeyValue, object: KubeObject, previous: Entry | undefined): Entry {
    // The chain of previous states must not grow without end.
    if (previous?.previous !== undefined) previous.previous.previous = undefined;
    const entry: Entry = {
      revision: kv.modRevision,
      bytes: sizeOf(kv),
      object,
      previous,
      converted: undefined,
    };
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

  /** Adapts the limit. Called when #old is to be dropped. */
  #followUse(): void {
    const unused = this.#old.size;
    if (this.#missed > unused / 2)
      this.#limitBytes = Math.min(2 * this.#limitBytes, this.#maxLimitBytes);
    else if (this.#missed + this.#reused < unused / 8) {
      this.#limitBytes = Math.max(
        this.#limitBytes / 2,
        Math.min(MIN_LIMIT_BYTES, this.#maxLimitBytes),
      );
    }
    this.#missed = 0;
    this.#reused = 0;
  }
}

function stateKey({ key, modRevision }: KeyValue): string {
  return `${modRevision} ${key}`;
}

/** Returns the entry of this state among those of its key, which are ordered from the newest. */
function stateOf(newest: Entry | undefined, { modRevision }: KeyValue): Entry | undefined {
  for (let entry = newest; entry !== undefined; entry = entry.previous)
    if (entry.revision === modRevision) return entry;
  return undefined;
}

/** Returns the object with the resourceVersion, which converters need not keep. */
function withRevision(object: KubeObject, revision: number): KubeObject {
  const resourceVersion = String(revision);
  if (object.metadata.resourceVersion === resourceVersion) return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}
