// Names that are made up: generateName's suffixes, and hashes as parts of names.

import { fnv32a } from './hash.ts';
import { NAME_ALPHABET } from '../random.ts';
import type { Random } from '../random.ts';
import { stableStringify } from '../deep.ts';

/** A generated name must fit a DNS label. */
const MAX_NAME_LENGTH = 63;
const RANDOM_LENGTH = 5;
const MAX_GENERATED_NAME_LENGTH = MAX_NAME_LENGTH - RANDOM_LENGTH;

/** `base` (cut to 58 characters) and five random characters: what metadata.generateName asks for. */
export function generateName(base: string, random: Random): string {
  return base.slice(0, MAX_GENERATED_NAME_LENGTH) + random.nameSuffix(RANDOM_LENGTH);
}

/** The text with each byte replaced by a character of the alphabet of names, so that no word comes out of a number. */
export function safeEncodeString(text: string): string {
  let encoded = '';
  for (const byte of Buffer.from(text)) encoded += NAME_ALPHABET[byte % NAME_ALPHABET.length];
  return encoded;
}

/**
 * A short hash of a JSON value for use in names, as pod-template-hash is: equal values, whatever the order of their keys,
 * have equal hashes. `collisionCount`: another hash for the same value, after a collision. The hash is not the one that
 * upstream computes for the same object (that one depends on how Go prints its memory), nor does anybody rely on that.
 */
export function computeHash(value: unknown, collisionCount?: number): string {
  const suffix = collisionCount === undefined ? '' : `/${collisionCount}`;
  return safeEncodeString(String(fnv32a(stableStringify(value) + suffix)));
}
