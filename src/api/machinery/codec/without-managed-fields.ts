// Removes metadata.managedFields from the JSON of an object before it is parsed: from lists and
// watches between threads, and from stored objects that are read for their references. It makes up
// half of many objects, and the components that cache objects do not read it. A write without
// managed fields keeps those of the stored object.

import { BIGINTS_FLAG, HEADER_BYTES } from './plain-encoding.ts';

const KEY = Buffer.from('"managedFields":[');
const METADATA = Buffer.from('"metadata":{');
/** The end of managedFields and metadata, and the spec after it. */
const SPEC = Buffer.from(']},"spec":{');
const STATUS = Buffer.from(',"status":{');

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Returns the JSON of an object without its managedFields, moved together in its own memory.
 * Returns it unchanged if it has none, or not where the API server writes them: in the first field
 * `metadata`, before any other field of that name.
 */
export function withoutManagedFields(json: Buffer): Buffer {
  const at = json.indexOf(KEY);
  if (at === -1) return json;
  const metadata = json.indexOf(METADATA);
  if (metadata === -1 || metadata > at || !isAtDepth(1, json, 0, metadata)) return json;
  if (!isAtDepth(0, json, metadata + METADATA.length, at)) return json;
  let end = endOfValue(json, at + KEY.length - 1);
  let start = at;
  // The following comma is cut, too, or the preceding one if the field is the last.
  if (json[end] === COMMA) end++;
  else if (json[at - 1] === COMMA) start--;
  json.copyWithin(start, end);
  return json.subarray(0, json.length - (end - start));
}

/**
 * Returns the object of a stored value (storage-codec.ts) without its managedFields and its
 * resourceVersion. Integers beyond 2^53 are not exact.
 */
export function decodeOutline<T>(value: Uint8Array): T {
  const json = withoutManagedFields(Buffer.from(value.subarray(HEADER_BYTES)));
  return JSON.parse(json.toString()) as T;
}

/**
 * Returns the object of a stored value like decodeOutline, with an empty status if it has none of
 * the fields in `statusFields`. The status is not read then. The object is of a built-in kind whose
 * schema has a spec and then a status after the metadata.
 */
export function decodeWithoutStatus<T>(value: Uint8Array, statusFields: readonly string[]): T {
  const bytes = asBuffer(value);
  const place = placeOfSpec(bytes);
  const status = place === undefined ? -1 : bytes.indexOf(STATUS, place.spec);
  if (place === undefined || status === -1) return decodeOutline(value);
  if (statusFields.some((field) => bytes.includes(`"${field}":`, status)))
    return decodeOutline(value);
  const { managedFields, spec } = place;
  const isFirst = bytes[managedFields - 1] !== COMMA;
  const head = bytes.toString('utf8', HEADER_BYTES, isFirst ? managedFields : managedFields - 1);
  return JSON.parse(`${head}},"spec":${bytes.toString('utf8', spec, status)},"status":{}}`) as T;
}

/**
 * Returns the offsets of `"managedFields"` and of the spec's value in a stored value. Undefined:
 * managedFields are not the last of the metadata, or no spec follows. The object is of a built-in
 * kind, whose members are in the order of the schema.
 *
 * SPEC cannot be inside a text, in which quotes are escaped. Managed fields have no lists inside, so
 * the first list that ends after their beginning is theirs.
 */
export function placeOfSpec(
  bytes: Buffer,
): { readonly managedFields: number; readonly spec: number } | undefined {
  const header = bytes.readUInt32BE(0) & ~(BIGINTS_FLAG << 24);
  // The place of resourceVersion in the metadata.
  const inMetadata = HEADER_BYTES + header;
  const managedFields = bytes.indexOf(KEY, inMetadata);
  if (managedFields === -1 || !isAtDepth(0, bytes, inMetadata, managedFields)) return undefined;
  const end = bytes.indexOf(SPEC, managedFields + KEY.length);
  return end === -1 ? undefined : { managedFields, spec: end + SPEC.length - 1 };
}

export function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

/**
 * Reports whether, between `from` and `to`, exactly `depth` objects and lists have begun and not
 * ended, and none ends that began before.
 */
function isAtDepth(depth: number, json: Buffer, from: number, to: number): boolean {
  let open = 0;
  for (let i = from; i < to; i++) {
    const byte = json[i];
    if (byte === QUOTE) i = endOfString(json, i) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open++;
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --open < 0) return false;
  }
  return open === depth;
}

/** Returns the index after the object or list that begins at `from`. */
function endOfValue(json: Buffer, from: number): number {
  let open = 0;
  for (let i = from; i < json.length; i++) {
    const byte = json[i];
    if (byte === QUOTE) i = endOfString(json, i) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open++;
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --open === 0) return i + 1;
  }
  throw new Error('unterminated JSON');
}

/** Returns the index after the text whose quote is at `from`. */
function endOfString(json: Buffer, from: number): number {
  let i = from + 1;
  while (i < json.length && json[i] !== QUOTE) i += json[i] === BACKSLASH ? 2 : 1;
  return i + 1;
}
