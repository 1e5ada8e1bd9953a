// Decodes protobuf to API objects: first to the loose form of parsed JSON, then, through the JSON
// decoder, to the normalized form. So only one decoder knows which values are left out.

import { formatDurationNanoseconds } from '#machinery/text/duration.ts';
import { setOwn } from '#machinery/deep.ts';
import { JsonError, parseJson } from '#machinery/text/json.ts';
import type {
  FieldDescriptor,
  MessageDescriptor,
  Scalar,
  TypeRef,
} from '#api/machinery/descriptor.ts';
import { decodeObject } from '../decode.ts';
import { MAX_BODY_VALUES } from '../limits.ts';
import { type Layout, layoutOf } from './layout.ts';
import { BYTES, FIXED64, ProtobufError, Reader, VARINT } from './wire.ts';

type Draft = Record<string, unknown>;

/** The maximum nesting. Real objects stay below it; deeper ones would exhaust the stack. */
const MAX_DEPTH = 256;

/**
 * Returns the normalized object of a message without an envelope (and so without kind and
 * apiVersion). Throws ProtobufError, DecodeError.
 */
export function decodeMessage<T = Record<string, unknown>>(
  message: MessageDescriptor,
  bytes: Uint8Array,
): T {
  const draft: Draft = {};
  readMessage(new Reader(bytes), layoutOf(message), draft, 0);
  return decodeObject<T>(message, draft).object;
}

function readMessage(reader: Reader, layout: Layout, draft: Draft, depth: number): void {
  if (depth > MAX_DEPTH) throw new ProtobufError(`exceeded max depth of ${MAX_DEPTH}`);
  while (reader.next()) {
    const member = layout.byNumber.get(reader.number);
    if (member === undefined) {
      // A field of a newer release is left out, as upstream does.
      reader.skip();
    } else if ('embedded' in member) {
      const outer = enter(reader);
      readMessage(reader, member.embedded, draft, depth + 1);
      reader.leave(outer);
    } else readField(reader, member.field, draft, depth);
  }
}

function readField(reader: Reader, field: FieldDescriptor, draft: Draft, depth: number): void {
  const { type, name } = field;
  if (type.kind === 'list' && !type.protoMessage) {
    if (reader.wireType === BYTES && isPackable(type.items)) {
      // Numbers may be single or packed. Protobuf has no empty lists: an empty pack adds none.
      const outer = reader.enter();
      if (!reader.more) {
        reader.leave(outer);
        return;
      }
      const list = (draft[name] ??= []) as unknown[];
      while (reader.more) {
        reader.count();
        list.push(reader.varint());
      }
      reader.leave(outer);
    } else ((draft[name] ??= []) as unknown[]).push(readValue(reader, type.items, depth));
  } else if (type.kind === 'map') {
    const map = (draft[name] ??= {}) as Draft;
    const outer = enter(reader);
    let key = '';
    let value: unknown = null;
    while (reader.next()) {
      if (reader.number === 1) key = readScalar(reader, 'string') as string;
      else if (reader.number === 2) value = readValue(reader, type.values, depth);
      else reader.skip();
    }
    reader.leave(outer);
    setOwn(map, key, value);
  } else draft[name] = readValue(reader, type, depth);
}

function isPackable(type: TypeRef): boolean {
  return type.kind === 'scalar' && (type.scalar === 'int32' || type.scalar === 'int64');
}

function readValue(reader: Reader, type: TypeRef, depth: number): unknown {
  switch (type.kind) {
    case 'message': {
      const draft: Draft = {};
      const outer = enter(reader);
      readMessage(reader, layoutOf(type.message), draft, depth + 1);
      reader.leave(outer);
      return draft;
    }
    case 'either':
      return readEither(reader, type, depth + 1);
    case 'list': {
      const list: unknown[] = [];
      const outer = enter(reader);
      while (reader.next()) {
        if (reader.number === 1) list.push(readValue(reader, type.items, depth + 1));
        else reader.skip();
      }
      reader.leave(outer);
      return list;
    }
    case 'map':
      throw new Error('a map in a map or list has no protobuf form');
    case 'scalar':
      return readScalar(reader, type.scalar);
  }
}

function readEither(reader: Reader, type: TypeRef & { kind: 'either' }, depth: number): unknown {
  let message: unknown;
  let other: unknown = type.or.kind === 'list' ? [] : false;
  const outer = enter(reader);
  while (reader.next()) {
    if (reader.number === type.messageNumber) {
      message = readValue(reader, { kind: 'message', message: type.message }, depth);
    } else if (reader.number === type.orNumber) {
      if (type.or.kind === 'list')
        (other as unknown[]).push(readValue(reader, type.or.items, depth));
      else other = readValue(reader, type.or, depth);
    } else reader.skip();
  }
  reader.leave(outer);
  return message ?? other;
}

function readScalar(reader: Reader, scalar: Scalar): unknown {
  switch (scalar) {
    case 'string':
      expectWireType(reader, BYTES);
      return reader.text();
    case 'bool':
      expectWireType(reader, VARINT);
      return reader.varint() !== 0;
    case 'int32':
    case 'int64':
    case 'uint8':
    case 'uint32':
    case 'uint64':
      expectWireType(reader, VARINT);
      return reader.varint();
    case 'double':
      expectWireType(reader, FIXED64);
      return reader.double();
    case 'bytes':
      expectWireType(reader, BYTES);
      return reader.bytes().toString('base64');
    default: {
      const outer = enter(reader);
      const value = readStruct(reader, scalar);
      reader.leave(outer);
      return value;
    }
  }
}

/** Reads a scalar that is a message of its own: numbers in the fields 1 and 2, bytes in 1 or 3. */
function readStruct(reader: Reader, scalar: Scalar): unknown {
  let first: number | undefined;
  let second: number | undefined;
  let run: Buffer | undefined;
  const runNumber = scalar === 'intOrString' ? 3 : 1;
  while (reader.next()) {
    if (reader.wireType === VARINT && reader.number === 1) first = reader.varint();
    else if (reader.wireType === VARINT && reader.number === 2) second = reader.varint();
    else if (reader.wireType === BYTES && reader.number === runNumber) run = reader.bytes();
    else reader.skip();
  }
  switch (scalar) {
    case 'quantity':
      return run?.toString() ?? '0';
    case 'time':
      return first === undefined ? null : formatTime(first, 'Z');
    case 'microTime': {
      if (first === undefined) return null;
      const micros = String(Math.floor((second ?? 0) / 1000)).padStart(6, '0');
      return formatTime(first, `.${micros}Z`);
    }
    case 'duration':
      return formatDurationNanoseconds(BigInt(first ?? 0));
    case 'intOrString':
      return first === 1 ? (run?.toString() ?? '') : (second ?? 0);
    default:
      return run === undefined ? null : parseRaw(run);
  }
}

/** Formats a time. RFC 3339 has only the years 0 to 9999. */
function formatTime(seconds: number, ending: string): string {
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS)
    throw new ProtobufError(`time out of range: ${seconds} seconds`);
  return new Date(seconds * 1000).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length) + ending;
}

const MIN_SECONDS = Date.parse('0000-01-01T00:00:00Z') / 1000;
const MAX_SECONDS = Date.parse('9999-12-31T23:59:59Z') / 1000;

function parseRaw(raw: Buffer): unknown {
  try {
    return parseJson(raw, { maxValues: MAX_BODY_VALUES });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new ProtobufError(`a free-form value is not JSON: ${error.message}`);
  }
}

/** Enters the message that must come next. */
function enter(reader: Reader): number {
  expectWireType(reader, BYTES);
  return reader.enter();
}

function expectWireType(reader: Reader, wanted: number): void {
  if (reader.wireType !== wanted)
    throw new ProtobufError(`proto: wrong wireType = ${reader.wireType}`);
}
