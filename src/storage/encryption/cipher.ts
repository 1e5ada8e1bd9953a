// The interface of providers: a cipher for the values that begin with its prefix.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Random } from '#machinery/random.ts';
import type { ValueTransformer } from '../transformed-storage.ts';

/** All encrypted values begin with this. */
export const MARK = 'k8s:enc:';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A cipher encrypts values, without its prefix, and decrypts what follows the prefix. It waits only
 * for a key that another program has to decrypt. A value is stale if another key wrote it than the
 * one that writes now.
 */
export interface Cipher extends ValueTransformer {
  /** The prefix of the values that this cipher writes. */
  readonly prefix: Buffer;
}

/** AES-GCM: the nonce (12 bytes), the ciphertext, the tag (16 bytes). The context is authenticated. */
export const aesGcm = {
  seal(secret: Uint8Array, value: Uint8Array, context: string, random: Random): Buffer {
    const nonce = random.bytes(NONCE_BYTES);
    const cipher = createCipheriv(algorithmOf(secret), secret, nonce).setAAD(Buffer.from(context));
    return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
  },
  open(secret: Uint8Array, data: Uint8Array, context: string): Buffer {
    if (data.length < NONCE_BYTES + TAG_BYTES)
      throw new Error('the stored data was shorter than the required size');
    const end = data.length - TAG_BYTES;
    const decipher = createDecipheriv(algorithmOf(secret), secret, data.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(context))
      .setAuthTag(data.subarray(end));
    const value = decipher.update(data.subarray(NONCE_BYTES, end));
    try {
      return inOwnMemory([value, decipher.final()]);
    } catch (error) {
      throw new Error('cipher: message authentication failed', { cause: error });
    }
  },
};

const algorithmOf = (secret: Uint8Array): 'aes-256-gcm' =>
  `aes-${secret.length * 8}-gcm` as 'aes-256-gcm';

/**
 * Concatenates the parts in a buffer outside of Node's pool. Stored and decrypted values live long,
 * and would keep the pool's whole slab in memory.
 */
export function inOwnMemory(parts: readonly Uint8Array[]): Buffer {
  const joined = Buffer.allocUnsafeSlow(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export function startsWith(data: Uint8Array, prefix: Uint8Array): boolean {
  return data.length >= prefix.length && prefix.every((byte, i) => data[i] === byte);
}
