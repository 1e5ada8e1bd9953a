// Encodes API objects to protobuf, with the same bytes as Kubernetes' generated code: fields by
// number, maps sorted by key, and zero values of fields that are not pointers.
//
// An encoder is compiled per type on first use, so that the properties of a field are evaluated
// once.

import { parseDurationNanoseconds } from '#machinery/text/duration.ts';
import type {
  FieldDescriptor,
  MessageDescriptor,
  Scalar,
  TypeRef,
} from '#api/machinery/descriptor.ts';
import { type Layout, layoutOf } from './layout.ts';
import { BYTES, FIXED64, VARINT, Writer } from './wire.ts';

type JsonObject = Readonly<Record<string, unknown>>;
/** Writes a value without its tag. An absent value is zero. */
type WriteValue = (writer: Writer, value: unknown) => void;
/** Writes one field of an object, or one embedded struct. */
type WriteMember = (writer: Writer, object: JsonObject) => void;

/** Shared by all calls: encoding a message never starts another one. */
const shared = new Writer();

/** Returns the message without an envelope. The object must be normalized. */
export function encodeMessage(message: MessageDescriptor, object: object): Buffer {
  shared.reset();
  encoderOf(message).write(shared, object as JsonObject);
  return shared.finish();
}

const encoders = new WeakMap<MessageDescriptor, Encoder>();

function encoderOf(message: MessageDescriptor): Encoder {
  let encoder = encoders.get(message);
  if (encoder === undefined) {
    encoder = new Encoder(message);
    encoders.set(message, encoder);
  }
  return encoder;
}

class Encoder {
  readonly #message: MessageDescriptor;
  /** Types may contain themselves, so they are compiled on first use. */
  #members: readonly WriteMember[] | undefined;

  constructor(message: MessageDescriptor) {
    this.#message = message;
  }

  write(writer: Writer, object: JsonObject): void {
    this.#members ??= compileLayout(layoutOf(this.#message));
    for (const member of this.#members) member(writer, object);
  }
}

function compileLayout(layout: Layout): WriteMember[] {
  return layout.members.map((member) => {
    if (!('embedded' in member)) return compileField(member.field);
    const tag = tagOf(member.number, BYTES);
    const members = compileLayout(member.embedded);
    return (writer, object) => {
      writer.varint(tag);
      const start = writer.begin();
      for (const inner of members) inner(writer, object);
      writer.end(start);
    };
  });
}

function compileField(field: FieldDescriptor): WriteMember {
  const { type, number, name } = field;
  if (type.kind === 'list' && !type.protoMessage) {
    const item = compileTagged(type.items, number);
    return (writer, object) => {
      const list = object[name] as readonly unknown[] | null | undefined;
      if (list === undefined || list === null) return;
      for (const value of list) item(writer, value);
    };
  }
  if (type.kind === 'map') {
    const tag = tagOf(number, BYTES);
    const keyTag = tagOf(1, BYTES);
    const element = compileTagged(type.values, 2);
    return (writer, object) => {
      const map = object[name] as JsonObject | null | undefined;
      if (map === undefined || map === null) return;
      for (const key of Object.keys(map).sort()) {
        writer.varint(tag);
        const start = writer.begin();
        writer.varint(keyTag);
        writer.text(key);
        element(writer, map[key]);
        writer.end(start);
      }
    };
  }
  const write = compileTagged(type, number);
  // Zero values of fields that are not pointers are written, except for absent bytes and free-form
  // values.
  const leftOut =
    field.pointer ||
    type.kind === 'list' ||
    (type.kind === 'scalar' && (type.scalar === 'bytes' || type.scalar === 'json'));
  if (!leftOut) return (writer, object) => write(writer, object[name]);
  return (writer, object) => {
    const value = object[name];
    if (value !== undefined && value !== null) write(writer, value);
  };
}

/** Returns the encoder of one value with its tag. */
function compileTagged(type: TypeRef, number: number): WriteValue {
  const { wireType, write } = compileValue(type);
  const tag = tagOf(number, wireType);
  return (writer, value) => {
    writer.varint(tag);
    write(writer, value);
  };
}

interface CompiledValue {
  readonly wireType: number;
  readonly write: WriteValue;
}

const NOTHING: JsonObject = {};

function compileValue(type: TypeRef): CompiledValue {
  switch (type.kind) {
    case 'message': {
      const encoder = encoderOf(type.message);
      return nested((writer, value) => encoder.write(writer, (value ?? NOTHING) as JsonObject));
    }
    case 'either':
      return nested(compileEither(type));
    case 'list': {
      const item = compileTagged(type.items, 1);
      return nested((writer, value) => {
        for (const element of (value ?? []) as readonly unknown[]) item(writer, element);
      });
    }
    case 'map':
      throw new Error('a map in a map or list has no protobuf form');
    case 'scalar':
      return compileScalar(type.scalar);
  }
}

function nested(write: WriteValue): CompiledValue {
  return {
    wireType: BYTES,
    write(writer, value) {
      const start = writer.begin();
      write(writer, value);
      writer.end(start);
    },
  };
}

function compileEither(type: TypeRef & { kind: 'either' }): WriteValue {
  const message = compileTagged({ kind: 'message', message: type.message }, type.messageNumber);
  const isList = type.or.kind === 'list';
  const other = compileTagged(type.or.kind === 'list' ? type.or.items : type.or, type.orNumber);
  const messageFirst = type.messageNumber < type.orNumber;
  return (writer, value) => {
    const isMessage = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isMessage && messageFirst) message(writer, value);
    if (isList)
      for (const item of isMessage ? [] : (value as readonly unknown[])) other(writer, item);
    // Beside a schema, true means that properties which match it are allowed.
    else other(writer, isMessage ? true : value);
    if (isMessage && !messageFirst) message(writer, value);
  };
}

const text: WriteValue = (writer, value) => writer.text((value as string | null | undefined) ?? '');
const integer: WriteValue = (writer, value) =>
  writer.int64((value as number | null | undefined) ?? 0);

function compileScalar(scalar: Scalar): CompiledValue {
  switch (scalar) {
    case 'string':
      return { wireType: BYTES, write: text };
    case 'bool':
      return { wireType: VARINT, write: (writer, value) => writer.varint(value ? 1 : 0) };
    case 'int32':
    case 'int64':
    case 'uint8':
    case 'uint32':
    case 'uint64':
      return { wireType: VARINT, write: integer };
    case 'double':
      return {
        wireType: FIXED64,
        write: (writer, value) => writer.double((value as number | null | undefined) ?? 0),
      };
    case 'bytes':
      return {
        wireType: BYTES,
        write: (writer, value) =>
          writer.bytes(Buffer.from((value as string | null | undefined) ?? '', 'base64')),
      };
    case 'quantity':
      return nested((writer, value) => {
        writer.tag(1, BYTES);
        text(writer, value ?? '0');
      });
    case 'time':
    case 'microTime':
      return nested((writer, value) => {
        if (typeof value !== 'string') return;
        writer.tag(1, VARINT);
        writer.int64(
          Math.floor(Date.parse(`${value.slice(0, 'yyyy-mm-ddThh:mm:ss'.length)}Z`) / 1000),
        );
        writer.tag(2, VARINT);
        writer.int64(scalar === 'time' ? 0 : Number(value.slice(20, 26)) * 1000);
      });
    case 'duration':
      return nested((writer, value) => {
        writer.tag(1, VARINT);
        writer.int64(
          Number(parseDurationNanoseconds((value as string | null | undefined) ?? '0s')),
        );
      });
    case 'intOrString':
      return nested((writer, value) => {
        writer.tag(1, VARINT);
        writer.varint(typeof value === 'string' ? 1 : 0);
        writer.tag(2, VARINT);
        writer.int64(typeof value === 'number' ? value : 0);
        writer.tag(3, BYTES);
        writer.text(typeof value === 'string' ? value : '');
      });
    case 'rawExtension':
    case 'json':
    case 'fieldsV1':
      // Free-form values are JSON inside of protobuf, too.
      return nested((writer, value) => {
        if (value === undefined || value === null) return;
        writer.tag(1, BYTES);
        writer.text(JSON.stringify(value));
      });
  }
}

function tagOf(number: number, wireType: number): number {
  return number * 8 + wireType;
}
