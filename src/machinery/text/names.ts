// Generated names: suffixes for generateName, and hashes as parts of names.

import { fnv32a } from './hash.ts';
import { NAME_ALPHABET, type Random } from '../random.ts';
import { stableStringify } from '../deep.ts';

/** A generated name must fit a DNS label. */
const MAX_NAME_LENGTH = 63;
const RANDOM_LENGTH = 5;
const MAX_GENERATED_NAME_LENGTH = MAX_NAME_LENGTH - RANDOM_LENGTH;

/**
 * Returns `base` (cut to 58 characters) and five random characters, the result of
 * metadata.generateName.
 */
export function generateName(base: string, random: Random): string {
  return base.slice(0, MAX_GENERATED_NAME_LENGTH) + random.nameSuffix(RANDOM_LENGTH);
}

/**
 * Replaces each byte of the text by a character of the alphabet for names, so that numbers do not
 * form words.
 */
export function safeEncodeString(text: string): string {
  let encoded = '';
  for (const byte of Buffer.from(text)) encoded += NAME_ALPHABET[byte % NAME_ALPHABET.length];
  return encoded;
}

/**
 * Returns a short hash of a JSON value for use in names, as pod-template-hash. The order of keys
 * does not matter. `collisionCount` gives another hash for the same value, after a collision. The
 * hash differs from upstream's for the same object, which depends on Go's formatting of structs. No
 * client relies on it.
 */
export function computeHash(value: unknown, collisionCount?: number): string {
  const suffix = collisionCount === undefined ? '' : `/${collisionCount}`;
  return safeEncodeString(String(fnv32a(stableStringify(value) + suffix)));
}
