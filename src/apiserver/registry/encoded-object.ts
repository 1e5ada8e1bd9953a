// API objects as bytes and as values; each form is derived from the other at most once. The types:
//
//   KeyValue one state of a key in the storage: opaque bytes, and the revision of their write
//   ObjectFormat     the layout of objects of one kind and version in these bytes
//   DecodedObject    the object of a state as a value, in the version that the store serves
//   ServedObject     one state of a stored object, as an EncodedObject. There are two:
//     StoredObject     its bytes are in the served version, and are served directly: its
//                      resourceVersion is spliced in (see the storage codec). In a list, kind and
//                      apiVersion are left out, which are the same first bytes in all objects.
//                      Nothing is parsed or stringified.
//     ConvertedObject its bytes are in another version. It was decoded and converted, and is
//     encoded
//                      again.
//   FreshObject      an object that is not stored: a Status, a review, a row of a table
//   ObjectCache      maps states to ServedObjects and objects to states, and caches DecodedObjects
//
// The protobuf of a StoredObject is encoded for the first reader that requests it, with that
// reader's codec, and kept as long as the storage keeps the state.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ProtobufCodec } from '#api/machinery/codec/object-codec.ts';
import { watchFrame } from '#api/machinery/codec/protobuf/index.ts';
import {
  encodeForStorage,
  hasBytes,
  spliceInto,
  splicedLength,
  STORED_HEADER_BYTES,
  storedLabels,
} from '#api/machinery/codec/index.ts';
import type { KeyValue } from '#storage/interface.ts';
import { passingValueOf, sizeOf, startOf } from '#storage/value.ts';
import type { EncodedObject, EncodedWatchEvent } from '../request.ts';
import { commonProtobufCodec } from './common-kinds.ts';

const OPEN_BRACE = 0x7b;
const NEWLINE = 0x0a;

/**
 * The layout of stored objects of one kind and version: kind and apiVersion first, then all other
 * fields.
 */
export class ObjectFormat {
  readonly apiVersion: string;
  readonly kind: string;
  /** The beginning of every object's JSON, up to the quote before "metadata". */
  readonly header: Buffer;
  /**
   * The offset of the apiVersion in the header. The bytes before it are the same for all versions
   * of the kind.
   */
  readonly #versionStart: number;

  constructor(apiVersion: string, kind: string) {
    this.apiVersion = apiVersion;
    this.kind = kind;
    const beforeVersion = `{"kind":${JSON.stringify(kind)},"apiVersion":`;
    this.header = Buffer.from(`${beforeVersion}${JSON.stringify(apiVersion)},`, 'utf8');
    this.#versionStart = Buffer.byteLength(beforeVersion);
  }

  /** Reports whether the state of an object of this kind is in this version. */
  isVersionOf(kv: KeyValue): boolean {
    const start = startOf(
      kv,
      STORED_HEADER_BYTES + this.header.length,
      STORED_HEADER_BYTES + this.#versionStart,
    );
    return hasBytes(start, this.header, this.#versionStart);
  }

  /** Returns the bytes to store. */
  encode(object: KubeObject): Uint8Array {
    if (this.#isIdentified(object)) return encodeForStorage(object);
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
    return encodeForStorage({ kind: this.kind, apiVersion: this.apiVersion, ...rest });
  }

  /** Reports whether the object's first two fields are kind and apiVersion. */
  #isIdentified(object: KubeObject): boolean {
    if (object.kind !== this.kind || object.apiVersion !== this.apiVersion) return false;
    let at = 0;
    for (const key in object) {
      if (at === 0 ? key !== 'kind' : key !== 'apiVersion') return false;
      if (++at === 2) break;
    }
    return true;
  }
}

/** Decodes states for their StoredObjects. */
export interface StateDecoder {
  decode(kv: KeyValue): DecodedObject;
  /** Returns the object of the state in protobuf. `codec`: the codec of the object's kind. */
  encodeProtobuf(kv: KeyValue, codec: ProtobufCodec): Buffer;
}

export interface DecodedObject {
  readonly object: KubeObject;
}

/** A state of a stored object, in the version that the store serves. */
export interface ServedObject extends EncodedObject {
  readonly kv: KeyValue;
  object(): KubeObject;
  /**
   * Returns the same state with another resourceVersion, since a deletion has a revision of its
   * own.
   */
  at(revision: number): ServedObject;
}

/**
 * Returns the state of a stored object. Throws Error for an object that is not stored, which is a
 * bug.
 */
export function stateOf(object: EncodedObject): KeyValue {
  if (!('kv' in object)) throw new Error('the object is in no storage');
  return (object as ServedObject).kv;
}

/**
 * A state whose bytes are in the served version. It is cheap to create, since everything is
 * computed on demand.
 */
export class StoredObject implements ServedObject {
  readonly kv: KeyValue;
  readonly #revision: number;
  readonly #format: ObjectFormat;
  readonly #decoder: StateDecoder;
  #decoded: DecodedObject | undefined;
  #jsonLine: Buffer | undefined;
  /** The length of the item with kind and apiVersion. */
  #itemLength: number | undefined;
  #protobuf: Buffer | undefined;

  /**
   * Creates the object. `revision` differs from the state's for the last state of a deleted object.
   */
  constructor(
    format: ObjectFormat,
    decoder: StateDecoder,
    kv: KeyValue,
    revision: number = kv.modRevision,
  ) {
    this.kv = kv;
    this.#revision = revision;
    this.#format = format;
    this.#decoder = decoder;
  }

  get state(): number | undefined {
    return this.#revision === this.kv.modRevision ? this.#revision : undefined;
  }

  object(): KubeObject {
    return this.decoded().object;
  }

  decoded(): DecodedObject {
    if (this.#decoded === undefined) {
      const decoded = this.#decoder.decode(this.kv);
      this.#decoded =
        this.#revision === this.kv.modRevision ? decoded : renumbered(decoded, this.#revision);
    }
    return this.#decoded;
  }

  labels(): Readonly<Record<string, string>> | undefined {
    return this.#decoded === undefined
      ? storedLabels(passingValueOf(this.kv))
      : this.#decoded.object.metadata.labels;
  }

  jsonLine(): Buffer {
    if (this.#jsonLine === undefined) {
      const value = passingValueOf(this.kv);
      const length = splicedLength(value.length, this.#revision);
      const line = Buffer.allocUnsafe(length + 1);
      spliceInto(line, 0, value, this.#revision);
      line[length] = NEWLINE;
      this.#jsonLine = line;
    }
    return this.#jsonLine;
  }

  itemLength(identified = false): number {
    this.#itemLength ??= splicedLength(sizeOf(this.kv), this.#revision);
    // One byte of the header stays: its brace.
    return identified ? this.#itemLength : this.#itemLength - this.#format.header.length + 1;
  }

  copyItem(target: Buffer, offset: number, identified = false): number {
    const value = passingValueOf(this.kv);
    if (identified) return spliceInto(target, offset, value, this.#revision);
    const end = spliceInto(target, offset + 1, value, this.#revision, this.#format.header.length);
    target[offset] = OPEN_BRACE;
    return end;
  }

  protobuf(codec?: ProtobufCodec): Buffer {
    if (this.#protobuf === undefined) {
      if (codec === undefined) throw notInProtobuf(this.object());
      const isStored = this.#revision === this.kv.modRevision;
      this.#protobuf = isStored
        ? this.#decoder.encodeProtobuf(this.kv, codec)
        : codec.encode(this.object());
    }
    return this.#protobuf;
  }

  at(revision: number): StoredObject {
    return revision === this.#revision
      ? this
      : new StoredObject(this.#format, this.#decoder, this.kv, revision);
  }
}

function renumbered({ object }: DecodedObject, revision: number): DecodedObject {
  return {
    object: { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } },
  };
}

/** An object that is not stored, such as a Status, a review, or a row of a table. */
export class FreshObject implements EncodedObject {
  readonly #object: unknown;
  readonly #identified: boolean;
  #jsonLine: Buffer | undefined;
  #item: Buffer | undefined;
  #protobuf: Buffer | undefined;

  /**
   * Creates the object. `identified`: it also has its kind as an item of a list. Default: false.
   */
  constructor(object: unknown, { identified = false }: { readonly identified?: boolean } = {}) {
    this.#object = object;
    this.#identified = identified;
  }

  object(): unknown {
    return this.#object;
  }

  jsonLine(): Buffer {
    this.#jsonLine ??= Buffer.from(`${stringifyJson(this.#object)}\n`, 'utf8');
    return this.#jsonLine;
  }

  itemLength(identified = false): number {
    return this.#asItem(identified).length;
  }

  copyItem(target: Buffer, offset: number, identified = false): number {
    const item = this.#asItem(identified);
    return offset + item.copy(target, offset);
  }

  protobuf(codec?: ProtobufCodec): Buffer {
    if (this.#protobuf === undefined) {
      const { apiVersion = '', kind = '' } = this.#object as Partial<KubeObject>;
      const own = commonProtobufCodec(apiVersion, kind) ?? codec;
      if (own === undefined) throw notInProtobuf({ apiVersion, kind });
      this.#protobuf = own.encode(this.#object as object);
    }
    return this.#protobuf;
  }

  #asItem(identified: boolean): Buffer {
    if (identified || this.#identified) return withoutNewline(this.jsonLine());
    if (this.#item === undefined) {
      const { kind: _kind, apiVersion: _apiVersion, ...rest } = this.#object as KubeObject;
      this.#item = Buffer.from(stringifyJson(rest), 'utf8');
    }
    return this.#item;
  }
}

/** A state whose bytes are in another version than the served one. */
export class ConvertedObject extends FreshObject implements ServedObject {
  readonly kv: KeyValue;
  readonly #decoded: DecodedObject;

  /** Creates the object. `decoded`: the converted object of the state. */
  constructor(kv: KeyValue, decoded: DecodedObject) {
    super(decoded.object);
    this.kv = kv;
    this.#decoded = decoded;
  }

  override object(): KubeObject {
    return this.#decoded.object;
  }

  decoded(): DecodedObject {
    return this.#decoded;
  }

  at(revision: number): ConvertedObject {
    if (this.object().metadata.resourceVersion === String(revision)) return this;
    return new ConvertedObject(this.kv, renumbered(this.#decoded, revision));
  }
}

function withoutNewline(line: Buffer): Buffer {
  return line.subarray(0, line.length - 1);
}

function notInProtobuf({
  apiVersion,
  kind,
}: {
  readonly apiVersion?: string;
  readonly kind?: string;
}): Error {
  return new Error(`${kind} of ${apiVersion} has no form in protobuf`);
}

/** A watch event, which is encoded when the first watcher needs its bytes. */
export class SharedWatchEvent implements EncodedWatchEvent {
  readonly type: EncodedWatchEvent['type'];
  readonly object: EncodedObject;
  #frame: Buffer | undefined;
  #protobufFrame: Buffer | undefined;

  constructor(type: EncodedWatchEvent['type'], object: EncodedObject) {
    this.type = type;
    this.object = object;
  }

  frame(): Buffer {
    if (this.#frame === undefined) {
      const head = `{"type":"${this.type}","object":`;
      const line = this.object.jsonLine();
      const frame = Buffer.allocUnsafe(head.length + line.length + 1);
      frame.write(head, 0, 'latin1');
      frame.set(line, head.length);
      // The brace replaces the object's newline.
      frame.write('}\n', head.length + line.length - 1, 'latin1');
      this.#frame = frame;
    }
    return this.#frame;
  }

  protobufFrame(codec?: ProtobufCodec): Buffer {
    this.#protobufFrame ??= watchFrame(this.type, this.object.protobuf(codec));
    return this.#protobufFrame;
  }
}
