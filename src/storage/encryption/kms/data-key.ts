// The keys of values: a plugin decrypts the source of a key, from which each value's key is made.

import { createHmac } from 'node:crypto';
import type { Random } from '#machinery/random.ts';
import { aesGcm } from '../cipher.ts';
import type { EncryptedObject } from './schema.ts';

export type SourceType = EncryptedObject['encryptedDekSourceType'];

export const SEED = 'HKDF_SHA256_XNONCE_AES_GCM_SEED' satisfies SourceType;
export const SEED_BYTES = 32;
const INFO_BYTES = 32;

/** Decrypts the values of one key or seed. */
export interface ValueKey {
  open(data: Uint8Array, context: string): Uint8Array;
}

/**
 * A seed. Each value has a key of its own: the first block of HKDF-Expand (RFC 5869, section 2.3)
 * with SHA-256, the seed, and 32 random bytes that precede the value.
 */
export class SeedKey implements ValueKey {
  readonly #seed: Uint8Array;

  /** Throws if the seed is too short. */
  constructor(seed: Uint8Array) {
    if (seed.length < SEED_BYTES)
      throw new Error(`invalid seed length ${seed.length} used for key generation`);
    this.#seed = seed;
  }

  seal(value: Uint8Array, context: string, random: Random): Buffer {
    const info = random.bytes(INFO_BYTES);
    return Buffer.concat([info, aesGcm.seal(this.#derived(info), value, context, random)]);
  }

  open(data: Uint8Array, context: string): Uint8Array {
    if (data.length < INFO_BYTES)
      throw new Error('the stored data was shorter than the required size');
    const [info, sealed] = [data.subarray(0, INFO_BYTES), data.subarray(INFO_BYTES)];
    return aesGcm.open(this.#derived(info), sealed, context);
  }

  #derived(info: Uint8Array): Buffer {
    return createHmac('sha256', this.#seed).update(info).update(Buffer.of(1)).digest();
  }
}

/** Returns the key that a plugin has decrypted. Throws if it cannot be one. */
export function valueKeyOf(type: SourceType, secret: Uint8Array): ValueKey {
  if (type === SEED) return new SeedKey(secret);
  if (![16, 24, 32].includes(secret.length))
    throw new Error(`crypto/aes: invalid key size ${secret.length}`);
  return { open: (data, context) => aesGcm.open(secret, data, context) };
}
