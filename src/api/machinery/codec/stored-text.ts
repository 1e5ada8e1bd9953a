// Reads single members of stored objects without decoding them: an index of all pods needs the name
// of each pod's node, a selection its labels, and nothing else of its 5 kB.

import { HEADER_BYTES } from './plain-encoding.ts';
import { asBuffer, placeOfSpec } from './without-managed-fields.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Returns the text at a path of member names in a stored value (storage-codec.ts), which is JSON
 * without blanks. Returns undefined if there is no such member, or if its value is not a text.
 * The object is of a built-in kind, whose members are in the order of the schema. `path` has names
 * of ASCII letters only, and not metadata.resourceVersion, which no stored value has.
 */
export function storedText(value: Uint8Array, path: readonly string[]): string | undefined {
  const bytes = asBuffer(value);
  const [first, ...rest] = path;
  // Managed fields are half of an object: the spec after them is found without reading them.
  const spec = first === 'spec' ? placeOfSpec(bytes)?.spec : undefined;
  let at = spec ?? HEADER_BYTES;
  for (const name of spec === undefined ? path : rest) {
    at = memberOf(bytes, at, name);
    if (at === -1) return undefined;
  }
  if (bytes[at] !== QUOTE) return undefined;
  const end = endOfString(bytes, at);
  const inside = bytes.toString('utf8', at + 1, end - 1);
  return inside.includes('\\') ? (JSON.parse(`"${inside}"`) as string) : inside;
}

/**
 * Returns metadata.labels of a stored value of any kind; undefined if it has none. It costs a
 * twentieth of decoding a pod: labels are before annotations and managed fields.
 */
export function storedLabels(value: Uint8Array): Readonly<Record<string, string>> | undefined {
  const bytes = asBuffer(value);
  const metadata = memberOf(bytes, HEADER_BYTES, 'metadata');
  const at = metadata === -1 ? -1 : memberOf(bytes, metadata, 'labels');
  if (at === -1) return undefined;
  return JSON.parse(bytes.toString('utf8', at, endOfValue(bytes, at))) as Record<string, string>;
}

/** Returns the offset of a member's value in the object at `from`; -1 if there is none. */
function memberOf(bytes: Buffer, from: number, name: string): number {
  if (bytes[from] !== OPEN_BRACE) return -1;
  let at = from + 1;
  while (bytes[at] === QUOTE) {
    const colon = endOfString(bytes, at);
    if (isName(bytes, at + 1, colon - 1, name)) return colon + 1;
    at = endOfValue(bytes, colon + 1);
    if (bytes[at] === COMMA) at++;
  }
  return -1;
}

function isName(bytes: Buffer, from: number, to: number, name: string): boolean {
  if (to - from !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name.charCodeAt(i)) return false;
  return true;
}

/** Returns the offset after the value that begins at `from`. */
function endOfValue(bytes: Buffer, from: number): number {
  const first = bytes[from];
  if (first === QUOTE) return endOfString(bytes, from);
  const isContainer = first === OPEN_BRACE || first === OPEN_BRACKET;
  let open = 0;
  for (let i = from; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) i = endOfString(bytes, i) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      // The end of the object around a number, true, false or null.
      if (!isContainer) return i;
      if (--open === 0) return i + 1;
    } else if (byte === COMMA && !isContainer) return i;
  }
  throw new Error('a stored object ends early');
}

/** Returns the offset after the text whose quote is at `from`. */
function endOfString(bytes: Buffer, from: number): number {
  let i = from + 1;
  while (i < bytes.length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1;
  return i + 1;
}
