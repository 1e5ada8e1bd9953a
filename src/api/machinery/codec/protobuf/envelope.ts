// The envelope around an object in protobuf: four magic bytes, then its apiVersion and kind, then
// the object.

import type { MessageDescriptor } from '#api/machinery/descriptor.ts';
import { decodeMessage } from './decode.ts';
import { encodeMessage } from './encode.ts';
import { BYTES, ProtobufError, Reader, Writer } from './wire.ts';

export const PROTOBUF_CONTENT_TYPE = 'application/vnd.kubernetes.protobuf';

const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

/** Reports whether the bytes begin like an enveloped object. */
export function isProtobuf(bytes: Uint8Array): boolean {
  return bytes.length >= MAGIC.length && MAGIC.every((byte, index) => bytes[index] === byte);
}

/** The bytes after the message: empty encoding and content type. */
export const ENVELOPE_TAIL: Uint8Array = Buffer.from([0x1a, 0x00, 0x22, 0x00]);

/** Returns the bytes before a message of this size. */
export function envelopeHead(apiVersion: string, kind: string, messageLength: number): Buffer {
  const writer = new Writer();
  writer.tag(1, BYTES);
  const start = writer.begin();
  writer.tag(1, BYTES);
  writer.text(apiVersion);
  writer.tag(2, BYTES);
  writer.text(kind);
  writer.end(start);
  writer.tag(2, BYTES);
  writer.varint(messageLength);
  return Buffer.concat([MAGIC, writer.finish()]);
}

/** Returns the normalized object in its envelope. */
export function encodeProtobuf(message: MessageDescriptor, object: object): Buffer {
  const { apiVersion = '', kind = '' } = object as {
    readonly apiVersion?: string;
    readonly kind?: string;
  };
  const bytes = encodeMessage(message, object);
  return Buffer.concat([envelopeHead(apiVersion, kind, bytes.length), bytes, ENVELOPE_TAIL]);
}

/** Returns the message in an envelope of `encodeProtobuf`, as a view, not a copy. */
export function messageInEnvelope(enveloped: Buffer): Buffer {
  const reader = new Reader(enveloped, MAGIC.length);
  reader.next();
  reader.bytes();
  reader.next();
  return reader.bytes();
}

export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object's own message. */
  readonly raw: Uint8Array;
}

/** Parses the envelope, which names the type. Throws ProtobufError. */
export function openEnvelope(bytes: Uint8Array): Envelope {
  if (!isProtobuf(bytes))
    throw new ProtobufError(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  if (bytes.length === MAGIC.length) throw new ProtobufError('empty body');
  const reader = new Reader(bytes, MAGIC.length);
  let apiVersion = '';
  let kind = '';
  let raw: Uint8Array = new Uint8Array();
  while (reader.next()) {
    if (reader.number === 1 && reader.wireType === BYTES) {
      [apiVersion, kind] = readTypeMeta(reader);
    } else if (reader.number === 2 && reader.wireType === BYTES) raw = reader.bytes();
    else reader.skip();
  }
  return { apiVersion, kind, raw };
}

function readTypeMeta(reader: Reader): [apiVersion: string, kind: string] {
  const outer = reader.enter();
  let apiVersion = '';
  let kind = '';
  while (reader.next()) {
    if (reader.number === 1 && reader.wireType === BYTES) apiVersion = reader.text();
    else if (reader.number === 2 && reader.wireType === BYTES) kind = reader.text();
    else reader.skip();
  }
  reader.leave(outer);
  return [apiVersion, kind];
}

/**
 * Returns the normalized object of an envelope, with the envelope's apiVersion and kind. Throws
 * ProtobufError, DecodeError.
 */
export function decodeProtobuf<T = Record<string, unknown>>(
  message: MessageDescriptor,
  envelope: Envelope,
): T {
  const { apiVersion, kind } = envelope;
  const object = decodeMessage(message, envelope.raw);
  return {
    ...(kind === '' ? {} : { kind }),
    ...(apiVersion === '' ? {} : { apiVersion }),
    ...object,
  } as T;
}
