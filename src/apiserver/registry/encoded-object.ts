// API objects as bytes and as values, each made from the other at most once.
//
// An object that is stored is served from its bytes: its resourceVersion is spliced in (see the storage codec), and as an item
// of a list its kind and apiVersion are left out, which are the same first bytes for all objects of a resource. Nothing is
// parsed or stringified to serve an object that was written once. Its protobuf is made for the first who wants it, and kept
// as long as the storage keeps the state that it was made from.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { encodeProtobuf, watchFrame } from '#api/machinery/codec/protobuf/index.ts';
import { messageOfKind } from '#api/machinery/schema/compile.ts';
import { encodeForStorage, spliceInto, splicedLength } from '#api/machinery/codec/index.ts';
import type { KeyValue } from '#storage/interface.ts';
import type { EncodedObject, EncodedWatchEvent } from '../request.ts';

const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;
const LETTER_M = 0x6d;
const NEWLINE = 0x0a;

/** How the objects of one kind are laid out in storage: kind and apiVersion first, then all else. */
export class ObjectFormat {
  readonly apiVersion: string;
  readonly kind: string;
  /** What the JSON of every object begins with, up to the quote before "metadata". */
  readonly header: Buffer;

  constructor(apiVersion: string, kind: string) {
    this.apiVersion = apiVersion;
    this.kind = kind;
    this.header = Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`, 'utf8');
  }

  /** The bytes to store. */
  encode(object: KubeObject): Uint8Array {
    if (this.#isIdentified(object)) return encodeForStorage(object);
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
    return encodeForStorage({ kind: this.kind, apiVersion: this.apiVersion, ...rest });
  }

  /** It in protobuf. */
  encodeProtobuf(object: KubeObject): Buffer {
    return toProtobuf(this.apiVersion, this.kind, object);
  }

  /** Whether it says what it is, and that first. */
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

/** Where decoded objects are kept for the next reader. */
export interface DecodedObjects {
  /** The decoded object of this state. */
  objectOf(kv: KeyValue): DecodedObject;
  /** It in protobuf. */
  protobufOf(kv: KeyValue): Buffer;
}

export interface DecodedObject {
  readonly object: KubeObject;
  /** What field selectors see, computed by the first who asks. */
  fields: Readonly<Record<string, string>> | undefined;
}

/** An object as it is in storage at one revision. Cheap to make: nothing is looked up before somebody asks. */
export class StoredObject implements EncodedObject {
  readonly kv: KeyValue;
  readonly #revision: number;
  readonly #format: ObjectFormat;
  readonly #decodedObjects: DecodedObjects;
  #decoded: DecodedObject | undefined;
  #jsonLine: Buffer | undefined;
  #itemLength: number | undefined;
  #protobuf: Buffer | undefined;

  /** `revision` differs from the one it was written at for the last state of a deleted object. */
  constructor(format: ObjectFormat, decodedObjects: DecodedObjects, kv: KeyValue, revision: number = kv.modRevision) {
    this.kv = kv;
    this.#revision = revision;
    this.#format = format;
    this.#decodedObjects = decodedObjects;
  }

  object(): KubeObject {
    return this.decoded().object;
  }

  decoded(): DecodedObject {
    if (this.#decoded === undefined) {
      const decoded = this.#decodedObjects.objectOf(this.kv);
      this.#decoded = this.#revision === this.kv.modRevision ? decoded : renumbered(decoded, this.#revision);
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

  itemLength(): number {
    // One byte of the header stays: its brace.
    return (this.#itemLength ??= splicedLength(this.kv.value, this.#revision) - this.#format.header.length + 1);
  }

  copyItem(target: Buffer, offset: number): number {
    const end = spliceInto(target, offset + 1, this.kv.value, this.#revision, this.#format.header.length);
    target[offset] = OPEN_BRACE;
    // All begin alike, or the list would be no JSON.
    if (target[offset + 1] !== QUOTE || target[offset + 2] !== LETTER_M) {
      throw new Error(`the stored object ${this.kv.key} does not begin as ${this.#format.kind} objects do`);
    }
    return end;
  }

  protobuf(): Buffer {
    if (this.#protobuf === undefined) {
      const isStored = this.#revision === this.kv.modRevision;
      this.#protobuf = isStored ? this.#decodedObjects.protobufOf(this.kv) : this.#format.encodeProtobuf(this.object());
    }
    return this.#protobuf;
  }

  /** The same state with another resourceVersion: a deletion has a revision of its own. */
  at(revision: number): StoredObject {
    return revision === this.#revision ? this : new StoredObject(this.#format, this.#decodedObjects, this.kv, revision);
  }
}

function renumbered({ object, fields }: DecodedObject, revision: number): DecodedObject {
  return { object: { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }, fields };
}

/** An object that was made for this answer: a Status, a review, an object in another version. */
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
    this.#jsonLine ??= Buffer.from(`${JSON.stringify(this.#object)}\n`, 'utf8');
    return this.#jsonLine;
  }

  itemLength(): number {
    return this.#asItem().length;
  }

  copyItem(target: Buffer, offset: number): number {
    const item = this.#asItem();
    return offset + item.copy(target, offset);
  }

  protobuf(): Buffer {
    if (this.#protobuf === undefined) {
      const { apiVersion = '', kind = '' } = this.#object as Partial<KubeObject>;
      this.#protobuf = toProtobuf(apiVersion, kind, this.#object as object);
    }
    return this.#protobuf;
  }

  #asItem(): Buffer {
    if (this.#item === undefined) {
      if (this.#identified) return (this.#item = withoutNewline(this.jsonLine()));
      const { kind: _kind, apiVersion: _apiVersion, ...rest } = this.#object as KubeObject;
      this.#item = Buffer.from(JSON.stringify(rest), 'utf8');
    }
    return this.#item;
  }
}

function withoutNewline(line: Buffer): Buffer {
  return line.subarray(0, line.length - 1);
}

function toProtobuf(apiVersion: string, kind: string, object: object): Buffer {
  const message = messageOfKind(apiVersion, kind);
  if (message === undefined) throw new Error(`${kind} of ${apiVersion} has no form in protobuf`);
  return encodeProtobuf(message, object);
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

  protobufFrame(): Buffer {
    this.#protobufFrame ??= watchFrame(this.type, this.object.protobuf());
    return this.#protobufFrame;
  }
}
