// The objects of states that are in storage, and the states of objects that are written. States in another version than the served one
// are converted when they are read; this may be asynchronous, and all states that are read together are converted in one call.
//
// Decoded objects are kept so that get, list and watch decode and convert a state of an object at most once between them. The cache is
// bounded by the bytes of the states it holds; the least recently used half goes first.
//
// The bound follows the use: it grows while states are decoded that might have been kept, and shrinks while those that are kept go
// without having been asked for again. Pods are read again and again in their first seconds; thousands of new ConfigMaps in the
// heap that nobody reads as objects are only work for the garbage collector.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ProtobufCodec } from '#api/machinery/codec/object-codec.ts';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { deepFreeze } from '#machinery/deep.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { KeyValue } from '#storage/interface.ts';
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
  /** Of the objects that are served. */
  readonly format: ObjectFormat;
  /** Of the states that are written. Default: `format`. */
  readonly storedFormat?: ObjectFormat;
  /** Converts states in other versions than the served one, and objects to the stored version. Default: there is one version only. */
  readonly converter?: ObjectConverter | undefined;
  /** See ResourceStoreConfig. */
  readonly normalize?: Normalize | undefined;
  /** Stored bytes of the objects kept, at most; if they are not used, less. Default: 32 MiB. */
  readonly limitBytes?: number;
  /** Freeze what is handed out, so that whoever changes it is found out. For tests. */
  readonly freeze?: boolean;
}

/** Returns the object as it is served; the object itself if it is served as it was stored. The object is not changed. */
export type Normalize = (object: KubeObject) => KubeObject;

interface Entry extends DecodedObject {
  readonly revision: number;
  readonly bytes: number;
  /** The state before it, if that was here: watchers hear of a change after its maker has gone on to the next. */
  previous: Entry | undefined;
  /** The state as it is served, if it is in another version. */
  converted: ConvertedObject | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The bound where nothing is asked for again, and what it begins with. */
const MIN_LIMIT_BYTES = 256 * 1024;
const FIRST_LIMIT_BYTES = 1024 * 1024;
/** States that are decoded for conversion in one turn of the event loop. */
const SLICE = 250;

export class ObjectCache implements StateDecoder {
  readonly #format: ObjectFormat;
  readonly #storedFormat: ObjectFormat;
  readonly #converter: ObjectConverter | undefined;
  readonly #normalize: Normalize | undefined;
  /** Values that are served as they were stored, if there is something to normalize. */
  readonly #normal = new WeakSet<Uint8Array>();
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
  /** The objects, in the stored version, that values were encoded from; until they are read for the first time. */
  readonly #encodedFrom = new WeakMap<Uint8Array, KubeObject>();
  /** By the stored bytes of the state: as long as the storage has those, somebody may ask for these. */
  readonly #protobuf = new WeakMap<
    Uint8Array,
    { readonly revision: number; readonly bytes: Buffer }
  >();

  constructor(config: ObjectCacheConfig) {
    this.#format = config.format;
    this.#storedFormat = config.storedFormat ?? config.format;
    this.#converter = config.converter;
    this.#normalize = config.normalize;
    this.#maxLimitBytes = config.limitBytes ?? 32 * 1024 * 1024;
    this.#limitBytes = Math.min(FIRST_LIMIT_BYTES, this.#maxLimitBytes);
    this.#freeze = config.freeze ?? false;
  }

  /** Stored bytes of the objects kept, at most, as of now. */
  get limitBytes(): number {
    return this.#limitBytes;
  }

  /** Whether objects are written in the version that is served. */
  get storesServedVersion(): boolean {
    return this.#storedFormat.apiVersion === this.#format.apiVersion;
  }

  /** Reports whether the state is in the version in which objects are written now. */
  isStoredVersion({ value }: KeyValue): boolean {
    return this.#storedFormat.isVersionOf(value);
  }

  /** Returns the object of the state. Throws or rejects with ConversionError. */
  read(kv: KeyValue): Awaitable<ServedObject> {
    return this.readNow(kv) ?? andThen(this.#convertStates([kv]), ([object]) => object!);
  }

  /** Returns the objects of the states, in their order; what must be converted is converted at once. Throws or rejects with ConversionError. */
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

  /** Returns the object of the state; undefined if it is in another version than the served one. Depends on the state alone. */
  readServedVersion(kv: KeyValue): KubeObject | undefined {
    if (!this.#format.isVersionOf(kv.value)) return undefined;
    const { object } = this.decode(kv);
    return this.#normalize === undefined || this.#normal.has(kv.value)
      ? object
      : this.#normalize(object);
  }

  /** Reports whether the bytes of the state are known to be what is served. */
  #isServedForm({ value }: KeyValue): boolean {
    return (
      this.#format.isVersionOf(value) && (this.#normalize === undefined || this.#normal.has(value))
    );
  }

  /**
   * Returns the bytes to store. The first who reads them, a watcher or the writer, does not have to decode them. An object that is created
   * is given away: it becomes the state, with its resourceVersion. Throws or rejects with ConversionError.
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

  /** Returns the object of a state that was just written, and keeps it for those who read it next. Throws or rejects with ConversionError. */
  written(kv: KeyValue): Awaitable<ServedObject> {
    if (this.storesServedVersion) this.decode(kv);
    return this.read(kv);
  }

  /** Of a state in the served version. */
  decode(kv: KeyValue): DecodedObject {
    const newest = this.#find(kv.key);
    const known = stateOf(newest, kv);
    if (known !== undefined) return known;
    const encodedFrom = this.#takeEncodedFrom(kv);
    const object = this.#shared(
      encodedFrom ?? decodeFromStorage<KubeObject>(kv.value, kv.modRevision),
    );
    // A reader of the past must not push out what others read now.
    if (newest !== undefined && newest.revision > kv.modRevision) return { object };
    if (encodedFrom === undefined) this.#missed++;
    return this.#keep(kv, object, newest);
  }

  /** `codec`: of the kind of all objects of this cache. */
  encodeProtobuf(kv: KeyValue, codec: ProtobufCodec): Buffer {
    const known = this.#protobuf.get(kv.value);
    if (known?.revision === kv.modRevision) return known.bytes;
    const encoded = codec.encode(this.decode(kv).object);
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

  #encodeStored(object: KubeObject): Uint8Array {
    const value = this.#storedFormat.encode(object);
    this.#encodedFrom.set(value, object);
    if (this.#normalize !== undefined && this.storesServedVersion) this.#normal.add(value);
    return value;
  }

  /** Converts states in other versions, and normalizes states in the served one. A state that is there several times is read once. */
  #convertStates(kvs: readonly KeyValue[]): Awaitable<readonly ServedObject[]> {
    const states = new Map(kvs.map((kv) => [stateKey(kv), kv]));
    const distinct = [...states.values()];
    return andThen(this.#decodeStates(distinct), (stored) => {
      const served = new Map<string, ServedObject>();
      const others: KeyValue[] = [];
      const toConvert: KubeObject[] = [];
      for (const [index, kv] of distinct.entries()) {
        const object = stored[index]!;
        if (this.#format.isVersionOf(kv.value)) {
          served.set(stateKey(kv), this.#keepNormalized(kv, object));
        } else {
          others.push(kv);
          toConvert.push(object);
        }
      }
      return andThen(
        convertObjects(this.#converter, toConvert, this.#format.apiVersion),
        (objects) => {
          for (const [index, kv] of others.entries())
            served.set(stateKey(kv), this.#keepConverted(kv, objects[index]!));
          return kvs.map((kv) => served.get(stateKey(kv))!);
        },
      );
    });
  }

  /** Returns the objects of states as they are stored. Many are decoded in several turns of the event loop. */
  #decodeStates(kvs: readonly KeyValue[]): Awaitable<readonly KubeObject[]> {
    const decode = (kv: KeyValue): KubeObject => {
      const object = this.#shared(
        this.#takeEncodedFrom(kv) ?? decodeFromStorage<KubeObject>(kv.value, kv.modRevision),
      );
      if (this.#normalize === undefined || !this.#format.isVersionOf(kv.value)) return object;
      const normalized = this.#normalize(object);
      if (normalized === object) this.#normal.add(kv.value);
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

  /** `object`: normalized. */
  #keepNormalized(kv: KeyValue, object: KubeObject): ServedObject {
    return this.#normal.has(kv.value)
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

  #shared(object: KubeObject): KubeObject {
    return this.#freeze ? deepFreeze(object) : object;
  }

  /** The object that the state was encoded from, in the stored version; undefined if it was read before, or another process wrote it. */
  #takeEncodedFrom({ value, createRevision, modRevision }: KeyValue): KubeObject | undefined {
    const object: Mutable<KubeObject> | undefined = this.#encodedFrom.get(value);
    if (object === undefined) return undefined;
    this.#encodedFrom.delete(value);
    // What an object begins as was made for that alone (see fillForCreate); later states may share their parts with those before.
    // Copied first, then changed: a literal that names members beside what it spreads is several times as slow to make.
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
    // Not a chain without end.
    if (previous?.previous !== undefined) previous.previous.previous = undefined;
    const entry: Entry = {
      revision: kv.modRevision,
      bytes: kv.value.length,
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

  /** Called when #old is to go. */
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

/** The entry of this state among those of its key, newest first. */
function stateOf(newest: Entry | undefined, { modRevision }: KeyValue): Entry | undefined {
  for (let entry = newest; entry !== undefined; entry = entry.previous)
    if (entry.revision === modRevision) return entry;
  return undefined;
}

/** Converters need not keep the resourceVersion. */
function withRevision(object: KubeObject, revision: number): KubeObject {
  const resourceVersion = String(revision);
  if (object.metadata.resourceVersion === resourceVersion) return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}
