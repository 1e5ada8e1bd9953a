// The form in which objects are stored. An object's resourceVersion is the revision of the write
// that stored it, so the stored value cannot contain it. Instead the value contains its position,
// and readers insert it. Lists and watches can therefore send stored bytes without parsing them.
//
// A value starts with four bytes (unsigned, big-endian): the offset, counted from the byte after
// them, at which `"resourceVersion":"N",` is inserted. The object's JSON without it follows, in
// UTF-8. The highest bit of the four bytes is set if the object has integers beyond 2^53, which are
// parsed as bigints.

import { encodeLongTexts, hasLongTexts } from './fast-path/long-texts.ts';
import { parseJson } from '#machinery/text/json.ts';
import { BIGINTS_FLAG, encodePlain, HEADER_BYTES } from './plain-encoding.ts';

/**
 * Returns the stored value of a normalized object, without its resourceVersion. Throws if its
 * metadata is missing or empty, which no object for storage has.
 */
export function encodeForStorage(object: object): Uint8Array {
  const { metadata } = object as { readonly metadata?: Members | null };
  if (metadata === undefined || metadata === null)
    throw new Error('an object without metadata cannot be stored');
  if (!hasLongTexts(object as Members)) return encodePlain(object as Members, metadata);
  const { value, at } = encodeLongTexts(object as Members, metadata, HEADER_BYTES);
  value.writeUInt32BE(at, 0);
  return value;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Reports whether the object's JSON in [from, expected.length) has the bytes of `expected`.
 * Compares from the end, where values differ first.
 */
export function hasBytes(value: Uint8Array, expected: Uint8Array, from: number): boolean {
  for (let at = expected.length - 1; at >= from; at--)
    if (value[HEADER_BYTES + at] !== expected[at]) return false;
  return true;
}

/** Returns the number of bytes that `spliceInto` writes of a value of so many bytes. */
export function splicedLength(bytes: number, revision: number): number {
  return bytes - HEADER_BYTES + insertionHead.length + digitsOf(revision) + '",'.length;
}

/** Returns the object's JSON with its resourceVersion, in a new buffer. */
export function spliceResourceVersion(value: Uint8Array, revision: number): Uint8Array {
  const target = Buffer.allocUnsafe(splicedLength(value.length, revision));
  spliceInto(target, 0, value, revision);
  return target;
}

/**
 * Writes the object's JSON with its resourceVersion into `target` at `at`, which must have room.
 * Returns the end offset. `skip`: the number of leading bytes to leave out; at least the opening
 * brace and "metadata" follow them. Short values are copied byte by byte, which costs less than a
 * view.
 */
export function spliceInto(
  target: Buffer,
  at: number,
  value: Uint8Array,
  revision: number,
  skip = 0,
): number {
  const split = HEADER_BYTES + offsetOf(value);
  let end = at;
  for (let from = HEADER_BYTES + skip; from < split; from++) target[end++] = value[from]!;
  for (let from = 0; from < insertionHead.length; from++) target[end++] = insertionHead[from]!;
  const digits = digitsOf(revision);
  let rest = revision;
  for (let digit = digits - 1; digit >= 0; digit--) {
    const tenth = Math.floor(rest / 10);
    target[end + digit] = 0x30 + rest - tenth * 10;
    rest = tenth;
  }
  end += digits;
  target[end++] = 0x22;
  target[end++] = 0x2c;
  target.set(value.subarray(split), end);
  return end + value.length - split;
}

const insertionHead = Buffer.from('"resourceVersion":"', 'latin1');

/**
 * Returns the object with its resourceVersion. The stored value must come from `encodeForStorage`.
 */
export function decodeFromStorage<T = Record<string, unknown>>(
  value: Uint8Array,
  revision: number,
): T {
  const buffer = asBuffer(value);
  const split = HEADER_BYTES + offsetOf(value);
  const json =
    buffer.toString('utf8', HEADER_BYTES, split) +
    insertion(revision) +
    buffer.toString('utf8', split);
  const hasBigints = (value[0]! & BIGINTS_FLAG) !== 0;
  return (
    hasBigints ? parseJson(json, { bigints: true, maxDepth: Infinity }) : JSON.parse(json)
  ) as T;
}

function digitsOf(revision: number): number {
  let digits = 1;
  for (let power = 10; power <= revision; power *= 10) digits++;
  return digits;
}

function insertion(revision: number): string {
  return `"resourceVersion":"${revision}",`;
}

function offsetOf(value: Uint8Array): number {
  const first = value[0]! & ~BIGINTS_FLAG;
  return ((first << 24) | (value[1]! << 16) | (value[2]! << 8) | value[3]!) >>> 0;
}

function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
