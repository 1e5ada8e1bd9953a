// The plain encoder for stored values, and the oracle of the faster ones in fast-path/.

import { encodeJson, stringifyJson } from '#machinery/text/json-integers.ts';
import { isPlainText } from './fast-path/json-bytes.ts';

/** A flag in the first byte of a stored value. The offset of an object never needs this bit. */
export const HEADER_BYTES = 4;

/**
 * A flag in the first byte of a stored value. No object is so large that its offset needs this bit.
 */
export const BIGINTS_FLAG = 0x80;

/** ObjectMeta's fields before resourceVersion, in the schema's order. */
export const BEFORE_RESOURCE_VERSION: ReadonlySet<string> = new Set([
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
]);

type Members = Readonly<Record<string, unknown>>;

/**
 * Returns the stored value of an object with one JSON.stringify. Every other encoder must return
 * the same bytes (see fast-path/). Throws if the metadata is empty.
 */
export function encodePlain(object: Members, metadata: Members): Uint8Array {
  const stored =
    metadata['resourceVersion'] === undefined
      ? object
      : { ...object, metadata: { ...metadata, resourceVersion: undefined } };
  const { text, bigints } = encodeJson(stored);
  const at = insertionPoint(object, metadata);
  const length = Buffer.byteLength(text);
  // The buffer is not from Node's pool: a stored value is long-lived and would keep its whole slab.
  const value = Buffer.allocUnsafeSlow(HEADER_BYTES + length);
  const isAscii = length === text.length;
  value.writeUInt32BE(isAscii ? at : Buffer.byteLength(text.slice(0, at)), 0);
  if (bigints) value[0] = value[0]! | BIGINTS_FLAG;
  value.write(text, HEADER_BYTES, isAscii ? 'latin1' : 'utf8');
  return value;
}

/**
 * Returns the index in the object's JSON (without resourceVersion) at which resourceVersion is
 * inserted.
 */
function insertionPoint(object: Members, metadata: Members): number {
  let start = '{'.length;
  for (const key in object) {
    if (key === 'metadata') break;
    start += memberLength(key, object[key]);
  }
  start += '"metadata":{'.length;
  let at = start;
  let inFirst = true;
  for (const key in metadata) {
    if (key === 'resourceVersion') {
      inFirst = false;
      continue;
    }
    if (metadata[key] === undefined) continue;
    inFirst &&= BEFORE_RESOURCE_VERSION.has(key);
    if (!inFirst) return at;
    at += memberLength(key, metadata[key]);
  }
  if (at === start) throw new Error('an object with empty metadata cannot be stored');
  // The inserted text ends in a comma, so it goes before another member: it becomes the first.
  return start;
}

/** Returns the length of a member with its comma. */
function memberLength(key: string, value: unknown): number {
  return value === undefined ? 0 : textLength(key) + textLength(value) + ':,'.length;
}

/** Returns the length of the value's JSON. */
function textLength(value: unknown): number {
  return typeof value === 'string' && isPlainText(value)
    ? value.length + '""'.length
    : stringifyJson(value).length;
}
