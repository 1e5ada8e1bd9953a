// Protobuf to API objects: first to the loose form that JSON has, then, through the JSON decoder, to the normalized one, so
// that there is one place that knows what is written and what is left out.

import { formatDurationNanoseconds } from '../../../machinery/duration.ts';
import { setOwn } from '../../../machinery/deep.ts';
import { JsonError, parseJson } from '../../../machinery/json.ts';
import type { FieldDescriptor, MessageDescriptor, Scalar, TypeRef } from '../../descriptor.ts';
import { decodeObject } from '../decode.ts';
import { type Layout, layoutOf } from './layout.ts';
import { BYTES, FIXED64, ProtobufError, Reader, VARINT } from './wire.ts';

type Draft = Record<string, unknown>;

/** Nesting that no real object has; deeper ones would exhaust the stack. */
const MAX_DEPTH = 256;

/** The normalized object of a message without its envelope (and so without kind and apiVersion). Throws ProtobufError, DecodeError. */
export function decodeMessage<T = Record<string, unknown>>(message: MessageDescriptor, bytes: Uint8Array): T {
  const draft: Draft = {};
  readMessage(new Reader(bytes), layoutOf(message), draft, 0);
  return decodeObject<T>(message, draft).object;
}

function readMessage(reader: Reader, layout: Layout, draft: Draft, depth: number): void {
  if (depth > MAX_DEPTH) throw new ProtobufError(`exceeded max depth of ${MAX_DEPTH}`);
  for (let tag = reader.next(); tag !== undefined; tag = reader.next()) {
    const member = layout.byNumber.get(tag.number);
    if (member === undefined) {
      // From a newer release: left out, as upstream does.
      reader.skip(tag.wireType);
      continue;
    }
    if ('embedded' in member) {
      expectWireType(tag.wireType, BYTES);
      readMessage(reader.message(), member.embedded, draft, depth + 1);
    } else readField(reader, member.field, tag.wireType, draft, depth);
  }
}

function readField(reader: Reader, field: FieldDescriptor, wireType: number, draft: Draft, depth: number): void {
  const { type, name } = field;
  if (type.kind === 'list' && !type.protoMessage) {
    const list = (draft[name] ??= []) as unknown[];
    list.push(readValue(reader, type.items, wireType, depth));
  } else if (type.kind === 'map') {
    const map = (draft[name] ??= {}) as Draft;
    expectWireType(wireType, BYTES);
    const entry = reader.message();
    let key = '';
    let value: unknown = null;
    for (let tag = entry.next(); tag !== undefined; tag = entry.next()) {
      if (tag.number === 1) key = entry.text();
      else if (tag.number === 2) value = readValue(entry, type.values, tag.wireType, depth);
      else entry.skip(tag.wireType);
    }
    setOwn(map, key, value);
  } else draft[name] = readValue(reader, type, wireType, depth);
}

function readValue(reader: Reader, type: TypeRef, wireType: number, depth: number): unknown {
  switch (type.kind) {
    case 'message': {
      expectWireType(wireType, BYTES);
      const draft: Draft = {};
      readMessage(reader.message(), layoutOf(type.message), draft, depth + 1);
      return draft;
    }
    case 'either':
      expectWireType(wireType, BYTES);
      return readEither(reader.message(), type, depth + 1);
    case 'list': {
      expectWireType(wireType, BYTES);
      const inner = reader.message();
      const list: unknown[] = [];
      for (let tag = inner.next(); tag !== undefined; tag = inner.next()) {
        if (tag.number === 1) list.push(readValue(inner, type.items, tag.wireType, depth + 1));
        else inner.skip(tag.wireType);
      }
      return list;
    }
    case 'map':
      throw new Error('a map in a map or list has no protobuf form');
    case 'scalar':
      return readScalar(reader, type.scalar, wireType);
  }
}

function readEither(reader: Reader, type: TypeRef & { kind: 'either' }, depth: number): unknown {
  let message: unknown;
  let other: unknown = type.or.kind === 'list' ? [] : false;
  for (let tag = reader.next(); tag !== undefined; tag = reader.next()) {
    if (tag.number === type.messageNumber) {
      message = readValue(reader, { kind: 'message', message: type.message }, tag.wireType, depth);
    } else if (tag.number === type.orNumber) {
      if (type.or.kind === 'list') (other as unknown[]).push(readValue(reader, type.or.items, tag.wireType, depth));
      else other = readValue(reader, type.or, tag.wireType, depth);
    } else reader.skip(tag.wireType);
  }
  return message ?? other;
}

function readScalar(reader: Reader, scalar: Scalar, wireType: number): unknown {
  switch (scalar) {
    case 'string':
      expectWireType(wireType, BYTES);
      return reader.text();
    case 'bool':
      expectWireType(wireType, VARINT);
      return reader.varint() !== 0;
    case 'int32':
    case 'int64':
    case 'uint8':
    case 'uint32':
    case 'uint64':
      expectWireType(wireType, VARINT);
      return reader.varint();
    case 'double':
      expectWireType(wireType, FIXED64);
      return reader.double();
    case 'bytes':
      expectWireType(wireType, BYTES);
      return reader.bytes().toString('base64');
    default:
      expectWireType(wireType, BYTES);
      return readStruct(reader.message(), scalar);
  }
}

function readStruct(reader: Reader, scalar: Scalar): unknown {
  const numbers: Record<number, number> = {};
  const runs: Record<number, Buffer> = {};
  for (let tag = reader.next(); tag !== undefined; tag = reader.next()) {
    if (tag.wireType === VARINT) numbers[tag.number] = reader.varint();
    else if (tag.wireType === BYTES) runs[tag.number] = reader.bytes();
    else reader.skip(tag.wireType);
  }
  switch (scalar) {
    case 'quantity':
      return runs[1]?.toString() ?? '0';
    case 'time':
      return numbers[1] === undefined ? null : formatTime(numbers[1], 'Z');
    case 'microTime': {
      if (numbers[1] === undefined) return null;
      const micros = String(Math.floor((numbers[2] ?? 0) / 1000)).padStart(6, '0');
      return formatTime(numbers[1], `.${micros}Z`);
    }
    case 'duration':
      return formatDurationNanoseconds(BigInt(numbers[1] ?? 0));
    case 'intOrString':
      return numbers[1] === 1 ? (runs[3]?.toString() ?? '') : (numbers[2] ?? 0);
    default:
      return runs[1] === undefined ? null : parseRaw(runs[1]);
  }
}

/** RFC 3339 has the years 0 to 9999, and no others. */
function formatTime(seconds: number, ending: string): string {
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) throw new ProtobufError(`time out of range: ${seconds} seconds`);
  return new Date(seconds * 1000).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length) + ending;
}

const MIN_SECONDS = Date.parse('0000-01-01T00:00:00Z') / 1000;
const MAX_SECONDS = Date.parse('9999-12-31T23:59:59Z') / 1000;

function parseRaw(raw: Buffer): unknown {
  try {
    return parseJson(raw);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new ProtobufError(`a free-form value is not JSON: ${error.message}`);
  }
}

function expectWireType(found: number, wanted: number): void {
  if (found !== wanted) throw new ProtobufError(`proto: wrong wireType = ${found}`);
}
