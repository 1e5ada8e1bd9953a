// API objects to protobuf, as Kubernetes' generated code writes them: fields by number, maps sorted by key, and what is no
// pointer written even when it is zero.

import { parseDurationNanoseconds } from '../../../machinery/duration.ts';
import type { FieldDescriptor, MessageDescriptor, Scalar, TypeRef } from '../../descriptor.ts';
import { type Layout, layoutOf } from './layout.ts';
import { BYTES, FIXED64, VARINT, Writer } from './wire.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The message alone, without an envelope. Trusts that the object is normalized. */
export function encodeMessage(message: MessageDescriptor, object: object): Uint8Array {
  const writer = new Writer();
  writeMessage(writer, layoutOf(message), object as JsonObject);
  return writer.finish();
}

function writeMessage(writer: Writer, layout: Layout, object: JsonObject): void {
  for (const member of layout.members) {
    if ('embedded' in member) {
      writer.tag(member.number, BYTES);
      writer.message(() => writeMessage(writer, member.embedded, object));
    } else {
      writeField(writer, member.field, object[member.field.name]);
    }
  }
}

function writeField(writer: Writer, field: FieldDescriptor, value: unknown): void {
  const { type, number } = field;
  if (type.kind === 'list') {
    if (type.protoMessage) {
      if (Array.isArray(value)) writeValue(writer, type, number, value);
      return;
    }
    for (const item of (value as unknown[] | null | undefined) ?? []) writeValue(writer, type.items, number, item);
    return;
  }
  if (type.kind === 'map') {
    const map = (value as JsonObject | null | undefined) ?? {};
    for (const key of Object.keys(map).sort()) {
      writer.tag(number, BYTES);
      writer.message(() => {
        writer.tag(1, BYTES);
        writer.text(key);
        writeValue(writer, type.values, 2, map[key]);
      });
    }
    return;
  }
  if (value === undefined || value === null) {
    // What is no pointer is written even when it is zero; but bytes and free-form values that are not there are not.
    if (field.pointer || (type.kind === 'scalar' && (type.scalar === 'bytes' || type.scalar === 'json'))) return;
  }
  writeValue(writer, type, number, value);
}

/** One value with its tag; absent is zero. */
function writeValue(writer: Writer, type: TypeRef, number: number, value: unknown): void {
  switch (type.kind) {
    case 'message':
      writer.tag(number, BYTES);
      writer.message(() => writeMessage(writer, layoutOf(type.message), (value ?? {}) as JsonObject));
      return;
    case 'either':
      writer.tag(number, BYTES);
      writer.message(() => writeEither(writer, type, value));
      return;
    case 'list':
      writer.tag(number, BYTES);
      writer.message(() => {
        for (const item of (value ?? []) as unknown[]) writeValue(writer, type.items, 1, item);
      });
      return;
    case 'map':
      throw new Error('a map in a map or list has no protobuf form');
    case 'scalar':
      writeScalar(writer, type.scalar, number, value);
  }
}

function writeEither(writer: Writer, type: TypeRef & { kind: 'either' }, value: unknown): void {
  const isMessage = typeof value === 'object' && value !== null && !Array.isArray(value);
  const message = (): void => {
    if (isMessage) writeValue(writer, { kind: 'message', message: type.message }, type.messageNumber, value);
  };
  const other = (): void => {
    if (type.or.kind === 'list') {
      for (const item of isMessage ? [] : (value as unknown[])) writeValue(writer, type.or.items, type.orNumber, item);
    } else {
      // Beside a schema stands true: properties that match it are allowed.
      writeValue(writer, type.or, type.orNumber, isMessage ? true : value);
    }
  };
  if (type.messageNumber < type.orNumber) {
    message();
    other();
  } else {
    other();
    message();
  }
}

function writeScalar(writer: Writer, scalar: Scalar, number: number, value: unknown): void {
  switch (scalar) {
    case 'string':
      writer.tag(number, BYTES);
      writer.text((value as string | undefined) ?? '');
      return;
    case 'bool':
      writer.tag(number, VARINT);
      writer.varint(value ? 1 : 0);
      return;
    case 'int32':
    case 'int64':
    case 'uint8':
    case 'uint32':
    case 'uint64':
      writer.tag(number, VARINT);
      writer.int64((value as number | undefined) ?? 0);
      return;
    case 'double':
      writer.tag(number, FIXED64);
      writer.double((value as number | undefined) ?? 0);
      return;
    case 'bytes':
      writer.tag(number, BYTES);
      writer.bytes(Buffer.from((value as string | undefined) ?? '', 'base64'));
      return;
    default:
      writer.tag(number, BYTES);
      writer.message(() => writeStruct(writer, scalar, value));
  }
}

/** Scalars that are messages of their own. */
function writeStruct(writer: Writer, scalar: Scalar, value: unknown): void {
  switch (scalar) {
    case 'quantity':
      writeScalar(writer, 'string', 1, value ?? '0');
      return;
    case 'time':
    case 'microTime': {
      if (typeof value !== 'string') return;
      writeScalar(writer, 'int64', 1, Math.floor(Date.parse(`${value.slice(0, 19)}Z`) / 1000));
      writeScalar(writer, 'int32', 2, scalar === 'time' ? 0 : Number(value.slice(20, 26)) * 1000);
      return;
    }
    case 'duration':
      writeScalar(writer, 'int64', 1, Number(parseDurationNanoseconds((value as string | undefined) ?? '0s')));
      return;
    case 'intOrString':
      writeScalar(writer, 'int64', 1, typeof value === 'string' ? 1 : 0);
      writeScalar(writer, 'int32', 2, typeof value === 'number' ? value : 0);
      writeScalar(writer, 'string', 3, typeof value === 'string' ? value : '');
      return;
    default:
      // Free-form values are JSON inside of protobuf, too.
      if (value === undefined || value === null) return;
      writer.tag(1, BYTES);
      writer.text(JSON.stringify(value));
  }
}
