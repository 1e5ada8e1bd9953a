// Values that a browser keeps for the server without being able to read or change them. So a sign-in
// that was begun costs the server no memory, however many are begun.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Random } from '#machinery/random.ts';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

export class Sealer {
  readonly #random: Random;
  /** New in each process: sealed values do not outlive it. */
  readonly #key: Uint8Array;

  constructor(random: Random) {
    this.#random = random;
    this.#key = random.bytes(KEY_BYTES);
  }

  /** Returns the text, encrypted, in characters that cookies may have. */
  seal(text: string): string {
    const iv = this.#random.bytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv);
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url');
  }

  /** Returns the text. Undefined: this sealer has not sealed the value. */
  open(sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    const body = bytes.subarray(IV_BYTES + TAG_BYTES);
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    } catch {
      // The tag does not fit: the value was changed, or another process has sealed it.
      return undefined;
    }
  }
}
