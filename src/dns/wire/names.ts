// Domain names: as bytes on the wire, as text in API objects, and as a list of labels in lower case
// for comparing.
//
// A label is kept as latin1 text: one character for each byte. A dot inside a label therefore stays
// part of the label, and cannot make a name look like another one.

import { MAX_LABEL_LENGTH, MAX_NAME_LENGTH } from './types.ts';

/** Labels in lower case, the leftmost first; the root has none. */
export type Labels = readonly string[];

/**
 * Parses a name in text form, with or without a trailing dot. Returns undefined for a name that
 * does not fit a message.
 */
export function parseName(text: string): Labels | undefined {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  if (name === '') return [];
  if (!/^[\x21-\x7e]+$/.test(name) || name.includes('\\')) return undefined;
  const labels = name.toLowerCase().split('.');
  if (labels.some((label) => label === '' || label.length > MAX_LABEL_LENGTH)) return undefined;
  return encodedLength(labels) <= MAX_NAME_LENGTH ? labels : undefined;
}

/** Returns the number of bytes of a name without compression. */
export function encodedLength(labels: Labels): number {
  return labels.reduce((sum, label) => sum + label.length + 1, 1);
}

/** Reports whether a name is the zone itself or below it. */
export function isBelow(labels: Labels, zone: Labels): boolean {
  const offset = labels.length - zone.length;
  if (offset < 0) return false;
  for (let i = zone.length - 1; i >= 0; i--) if (labels[offset + i] !== zone[i]) return false;
  return true;
}

/**
 * Returns a name as text for logs and metrics: non-printable bytes, dots and backslashes are
 * escaped as in zone files.
 */
export function formatName(labels: Labels): string {
  if (labels.length === 0) return '.';
  return labels.map((label) => label.replace(/[^\x21-\x7e]|[.\\]/g, escapeByte)).join('.') + '.';
}

function escapeByte(character: string): string {
  const code = character.charCodeAt(0);
  return code > 0x20 && code < 0x7f ? `\\${character}` : `\\${String(code).padStart(3, '0')}`;
}

/**
 * Returns the offset after a name that starts at `offset`; -1 if it is malformed or reaches past
 * `end`. A compression pointer ends the name and is not followed, so that no message can make this
 * loop.
 */
export function skipName(message: Uint8Array, offset: number, end: number): number {
  let at = offset;
  while (at < end) {
    const length = message[at]!;
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2 <= end ? at + 2 : -1;
    if (length > MAX_LABEL_LENGTH) return -1;
    at += length + 1;
    if (at - offset > MAX_NAME_LENGTH) return -1;
  }
  return -1;
}

/**
 * Reads an uncompressed name of a message that was checked before. `offset` is where its first
 * length byte is.
 */
export function readLabelsAsWritten(message: Buffer, offset: number): Labels {
  const labels: string[] = [];
  let at = offset;
  for (let length = message[at]!; length !== 0; length = message[at]!) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return labels;
}

/** Reads a name in lower case. Only ASCII letters are folded, as in DNS comparisons. */
export function readLabels(message: Buffer, offset: number): Labels {
  return readLabelsAsWritten(message, offset).map((label) =>
    label.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  );
}
