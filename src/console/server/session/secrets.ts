// Random values that are the whole proof of who sends them. Only their digests are kept, so the time
// of a lookup does not depend on how much of a guess is right.

import { createHash } from 'node:crypto';
import type { Random } from '#machinery/random.ts';

const BYTES = 32;

/** Returns a new secret: 43 characters that URLs and cookies may have. */
export function newSecret(random: Random): string {
  return Buffer.from(random.bytes(BYTES)).toString('base64url');
}

export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}
