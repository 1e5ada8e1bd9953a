// API objects as bytes and as values, each made from the other at most once. The nouns:
//
//   KeyValue         one state of a key in the storage: opaque bytes and the revision of their write
//   ObjectFormat     how objects of one kind and version are laid out in those bytes
//   DecodedObject    the object of a state as a value, in the version that the store serves
//   ServedObject     one state of a stored object, to be sent or looked at: an EncodedObject. There are two:
//     StoredObject     its bytes are in the served version. It is served from them: its resourceVersion is spliced in (see the storage
//                      codec), and as an item of a list its kind and apiVersion are left out, which are the same first bytes for
//                      all. Nothing is parsed or stringified to serve it.
//     ConvertedObject  its bytes are in another version. It was decoded and converted before it was made, and is encoded again.
//   FreshObject      an object that is in no storage: a Status, a review, a row of a table. Also an EncodedObject.
//   ObjectCache      makes ServedObjects of states and states of objects, and keeps DecodedObjects for the next reader
//
// The protobuf of a StoredObject is made for the first reader that wants it, by the codec of the kind that this reader brings, and kept
// as long as the storage keeps the state.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ProtobufCodec } from '#api/machinery/codec/object-codec.ts';
import { watchFrame } from '#api/machinery/codec/protobuf/index.ts';
import {
  encodeForStorage,
  hasBytes,
  spliceInto,
  splicedLength,
} from '#api/machinery/codec/index.ts';
import type { KeyValue } from '#storage/interface.ts';
import type { EncodedObject, EncodedWatchEvent } from '../request.ts';
import { commonProtobufCodec } from './common-kinds.ts';

const OPEN_BRACE = 0x7b;
const NEWLINE = 0x0a;

/** How objects of one kind and version are laid out in storage: kind and apiVersion first, then all else. */
export class ObjectFormat {
  readonly apiVersion: string;
  readonly kind: string;
  /** What the JSON of every object begins with, up to the quote before "metadata". */
  readonly header: Buffer;
  /** Where in the header the apiVersion begins. What is before it is the same for all versions of the kind. */
  readonly #versionStart: number;

  constructor(apiVersion: string, kind: string) {
    this.apiVersion = apiVersion;
    this.kind = kind;
    const beforeVersion = `{"kind":${JSON.stringify(kind)},"apiVersion":`;
    this.header = Buffer.from(`${beforeVersion}${JSON.stringify(apiVersion)},`, 'utf8');
    this.#versionStart = Buffer.byteLength(beforeVersion);
  }

  /** Reports whether the stored bytes of an object of this kind are in this version. */
  isVersionOf(value: Uint8Array): boolean {
    return hasBytes(value, this.header, this.#versionStart);
  }

  /** The bytes to store. */
  encode(object: KubeObject): Uint8Array {
    if (this.#isIdentified(object)) return encodeForStorage(object);
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
    return encodeForStorage({ kind: this.kind, apiVersion: this.apiVersion, ...rest });
  }

  /** Reports whether the object has kind and apiVersion, in this order and before all else. */
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

/** Decodes states for the StoredObjects that were made of them. */
export interface StateDecoder {
  decode(kv: KeyValue): DecodedObject;
  /** Returns the object of the state in protobuf. `codec`: of the object's kind. */
  encodeProtobuf(kv: KeyValue, codec: ProtobufCodec): Buffer;
}

export interface DecodedObject {
  readonly object: KubeObject;
}

/** A state of a stored object, in the version that the store serves. */
export interface ServedObject extends EncodedObject {
  readonly kv: KeyValue;
  object(): KubeObject;
  /** Returns the same state with another resourceVersion: a deletion has a revision of its own. */
  at(revision: number): ServedObject;
}

/** Returns the state of a stored object. Throws Error for an object that is in no storage: a programmer error. */
export function stateOf(object: EncodedObject): KeyValue {
  if (!('kv' in object)) throw new Error('the object is in no storage');
  return (object as ServedObject).kv;
}

/** A state whose bytes are in the served version. Cheap to make: nothing is looked up before it is asked for. */
export class StoredObject implements ServedObject {
  readonly kv: KeyValue;
  readonly #revision: number;
  readonly #format: ObjectFormat;
  readonly #decoder: StateDecoder;
  #decoded: DecodedObject | undefined;
  #jsonLine: Buffer | undefined;
  /** With kind and apiVersion. */
  #itemLength: number | undefined;
  #protobuf: Buffer | undefined;

  /** `revision` differs from the one it was written at for the last state of a deleted object. */
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

  jsonLine(): Buffer {
    if (this.#jsonLine === undefined) {
      const length = splicedLength(this.kv.value, this.#revision);
      const line = Buffer.allocUnsafe(length + 1);
      spliceInto(line, 0, this.kv.value, this.#revision);
      line[length] = NEWLINE;
      this.#jsonLine = line;
    }
    return this.#jsonLine;
  }

  itemLength(identified = false): number {
    this.#itemLength ??= splicedLength(this.kv.value, this.#revision);
    // One byte of the header stays: its brace.
    return identified ? this.#itemLength : this.#itemLength - this.#format.header.length + 1;
  }

  copyItem(target: Buffer, offset: number, identified = false): number {
    if (identified) return spliceInto(target, offset, this.kv.value, this.#revision);
    const end = spliceInto(
      target,
      offset + 1,
      this.kv.value,
      this.#revision,
      this.#format.header.length,
    );
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

/** An object that is in no storage: it was made for this answer. A Status, a review, a row of a table. */
export class FreshObject implements EncodedObject {
  readonly #object: unknown;
  readonly #identified: boolean;
  #jsonLine: Buffer | undefined;
  #item: Buffer | undefined;
  #protobuf: Buffer | undefined;

  /** `identified`: it says its kind as an item of a list, too. Default: false. */
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

  /** `decoded`: the object of the state, converted. */
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

/** A watch event, encoded when the first watcher needs its bytes. */
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
      // The brace takes the place of the object's newline.
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
