// The form of stored values (storage-codec.ts) as plain JSON, which other programs read, and back.

import { BEFORE_RESOURCE_VERSION, BIGINTS_FLAG, HEADER_BYTES } from './plain-encoding.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** A number that may be beyond 2^53. Texts may contain it as well: they are parsed more slowly. */
const LONG_NUMBER = /[:,[]-?\d{16}/;
const LONG_DIGITS = 16;

/** Reports whether the bytes have the form of `encodeForStorage`. */
export function isStoredForm(value: Uint8Array): boolean {
  const head = value[0];
  return (
    value.length > HEADER_BYTES && (head === 0 || head === BIGINTS_FLAG) && value[4] === OPEN_BRACE
  );
}

/** Returns the object's JSON, without its resourceVersion, as a view. */
export function jsonOfStored(value: Uint8Array): Uint8Array {
  return value.subarray(HEADER_BYTES);
}

/**
 * Returns the stored value of JSON that `jsonOfStored` returned. Undefined: it cannot have come from
 * there.
 */
export function storedOfJson(json: Uint8Array): Uint8Array | undefined {
  const at = insertionPoint(json);
  if (at === undefined) return undefined;
  const value = Buffer.allocUnsafeSlow(HEADER_BYTES + json.length);
  value.writeUInt32BE(at, 0);
  value.set(json, HEADER_BYTES);
  if (hasLongDigits(json) && LONG_NUMBER.test(value.toString('latin1', HEADER_BYTES)))
    value[0] = value[0]! | BIGINTS_FLAG;
  return value;
}

/** Reports whether there are 16 digits in a row. One of them is at a multiple of 16. */
function hasLongDigits(json: Uint8Array): boolean {
  for (let at = 0; at < json.length; at += LONG_DIGITS) {
    if (!isDigit(json[at])) continue;
    let first = at;
    while (isDigit(json[first - 1])) first--;
    let end = at + 1;
    while (isDigit(json[end])) end++;
    if (end - first >= LONG_DIGITS) return true;
  }
  return false;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Returns the offset at which resourceVersion is inserted, as `encodePlain` chooses it. */
function insertionPoint(json: Uint8Array): number | undefined {
  const metadata = memberNamed(json, 'metadata');
  if (metadata === undefined || json[metadata.value] !== OPEN_BRACE) return undefined;
  const start = metadata.value + 1;
  if (json[start] !== QUOTE) return undefined;
  for (const { name, from } of membersOf(json, metadata.value))
    if (!BEFORE_RESOURCE_VERSION.has(name)) return from;
  return start;
}

interface Member {
  readonly name: string;
  /** The offset of the name's quote. */
  readonly from: number;
  /** The offset of the value. */
  readonly value: number;
}

/** Returns the first member of the object with this name. */
function memberNamed(json: Uint8Array, wanted: string): Member | undefined {
  for (const member of membersOf(json, 0)) if (member.name === wanted) return member;
  return undefined;
}

/** Yields the members of the object at `open`, until one that has white space around it. */
function* membersOf(json: Uint8Array, open: number): Generator<Member, void> {
  let at = open;
  while (json[at] === (at === open ? OPEN_BRACE : COMMA) && json[at + 1] === QUOTE) {
    const from = at + 1;
    const end = afterText(json, from);
    if (json[end] !== COLON) return;
    const name = Buffer.from(json.buffer, json.byteOffset + from + 1, end - from - 2).toString();
    yield { name, from, value: end + 1 };
    at = afterValue(json, end + 1);
  }
}

/** Returns the offset after the text whose quote is at `from`. */
function afterText(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

function afterValue(json: Uint8Array, from: number): number {
  let depth = 0;
  for (let at = from; at < json.length;) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = afterText(json, at);
      if (depth === 0) return at;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_LIST) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (byte === COMMA && depth === 0) return at;
    at++;
  }
  return json.length;
}
