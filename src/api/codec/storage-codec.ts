// The form in which objects are stored. An object's resourceVersion is the revision of the write that stored it, so the
// value cannot hold it; instead the value says where it goes, and readers splice it in. Lists and watches then send stored
// bytes without parsing them.
//
// A value is four bytes (unsigned, big-endian): the offset, counted from the byte after them, at which
// `"resourceVersion":"N",` is to be inserted; then the object's JSON in UTF-8 without it.

const HEADER_BYTES = 4;

/** ObjectMeta's fields before resourceVersion, in the schema's order. */
const before: ReadonlySet<string> = new Set(['name', 'generateName', 'namespace', 'selfLink', 'uid']);

/**
 * The stored value of a normalized object; a resourceVersion that it has is left out. The object has a metadata that is not
 * empty, as every object does that may be stored.
 */
export function encodeForStorage(object: object): Uint8Array {
  const head: Record<string, unknown> = {};
  const rest: Record<string, unknown> = {};
  let metadata: Record<string, unknown> | undefined;
  for (const [key, value] of Object.entries(object)) {
    if (key === 'metadata' && metadata === undefined) metadata = value as Record<string, unknown>;
    else (metadata === undefined ? head : rest)[key] = value;
  }
  if (metadata === undefined || metadata === null) throw new Error('an object without metadata cannot be stored');
  const first: Record<string, unknown> = {};
  const last: Record<string, unknown> = {};
  let inFirst = true;
  for (const key in metadata) {
    if (key === 'resourceVersion') {
      inFirst = false;
      continue;
    }
    inFirst &&= before.has(key);
    (inFirst ? first : last)[key] = metadata[key];
  }
  const headText = members(head);
  const firstText = members(first);
  const lastText = members(last);
  const restText = members(rest);
  if (firstText === '' && lastText === '') throw new Error('an object with empty metadata cannot be stored');
  const open = `{${headText}${headText === '' ? '' : ','}"metadata":{`;
  const close = `}${restText === '' ? '' : ','}${restText}}`;
  // What is inserted ends in a comma, so something must follow it.
  const prefix = lastText === '' ? open : open + firstText + (firstText === '' ? '' : ',');
  const suffix = lastText === '' ? firstText + close : lastText + close;
  const prefixBytes = Buffer.byteLength(prefix);
  const suffixBytes = Buffer.byteLength(suffix);
  // Not from Node's pool: a stored value lives long, and would keep its whole slab.
  const value = Buffer.allocUnsafeSlow(HEADER_BYTES + prefixBytes + suffixBytes);
  value.writeUInt32BE(prefixBytes, 0);
  value.write(prefix, HEADER_BYTES);
  value.write(suffix, HEADER_BYTES + prefixBytes);
  return value;
}

/** The members of an object's JSON without the braces. */
function members(object: Record<string, unknown>): string {
  return JSON.stringify(object).slice(1, -1);
}

/** How many bytes `spliceInto` writes. */
export function splicedLength(value: Uint8Array, revision: number): number {
  return value.length - HEADER_BYTES + insertion(revision).length;
}

/** The object's JSON with its resourceVersion, in a buffer of its own. */
export function spliceResourceVersion(value: Uint8Array, revision: number): Uint8Array {
  const target = Buffer.allocUnsafe(splicedLength(value, revision));
  spliceInto(target, 0, value, revision);
  return target;
}

/** Writes the object's JSON with its resourceVersion into `target` at `at`, which has room for it; answers where it ends. */
export function spliceInto(target: Buffer, at: number, value: Uint8Array, revision: number): number {
  const split = HEADER_BYTES + offsetOf(value);
  target.set(value.subarray(HEADER_BYTES, split), at);
  let end = at + split - HEADER_BYTES;
  end += target.write(insertion(revision), end, 'latin1');
  target.set(value.subarray(split), end);
  return end + value.length - split;
}

/**
 * As spliceInto, without the first `skip` bytes of the object's JSON; there is at least its brace and "metadata" behind them.
 * Made for long lists: it copies what is short byte by byte, which costs less than a view of it.
 */
export function spliceTailInto(target: Buffer, at: number, value: Uint8Array, revision: number, skip: number): number {
  const split = HEADER_BYTES + offsetOf(value);
  let end = at;
  for (let from = HEADER_BYTES + skip; from < split; from++) target[end++] = value[from] as number;
  const inserted = insertion(revision);
  for (let index = 0; index < inserted.length; index++) target[end++] = inserted.charCodeAt(index);
  target.set(value.subarray(split), end);
  return end + value.length - split;
}

/** Whether the object's JSON begins with these bytes. */
export function beginsWith(value: Uint8Array, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) if (value[HEADER_BYTES + index] !== bytes[index]) return false;
  return true;
}

/** The object with its resourceVersion. Trusts what is stored: it was normalized when it was written. */
export function decodeFromStorage<T = Record<string, unknown>>(value: Uint8Array, revision: number): T {
  const buffer = asBuffer(value);
  const split = HEADER_BYTES + offsetOf(value);
  return JSON.parse(buffer.toString('utf8', HEADER_BYTES, split) + insertion(revision) + buffer.toString('utf8', split)) as T;
}

function insertion(revision: number): string {
  return `"resourceVersion":"${revision}",`;
}

function offsetOf(value: Uint8Array): number {
  return (((value[0] as number) << 24) | ((value[1] as number) << 16) | ((value[2] as number) << 8) | (value[3] as number)) >>> 0;
}

function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
