// The format of encrypted values, the same as Kubernetes': `k8s:enc:PROVIDER:v1:KEYNAME:` and then
// the provider's output. Both implementations read each other's values.
//
//   aesgcm    nonce (12 bytes), ciphertext, tag (16 bytes); the store's key is authenticated, too
//   aescbc    initialization vector (16 bytes), ciphertext, PKCS #7 padding; not authenticated, so
//             only for existing data
//   secretbox nonce (24 bytes), tag (16 bytes), ciphertext: XSalsa20 and Poly1305
//   identity  the value itself

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { Random } from '#machinery/random.ts';
import type { EncryptionKey, ProviderConfiguration } from './config.ts';

const MARK = 'k8s:enc:';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const BLOCK_BYTES = 16;
const SECRETBOX_NONCE_BYTES = 24;

/** A stored value, decrypted. */
export interface Opened {
  readonly value: Uint8Array;
  /** The value was written with another provider or key than the one that writes now. */
  readonly stale: boolean;
}

interface Cipher {
  /** The prefix of the values that this cipher writes. */
  readonly prefix: Buffer;
  /** Encrypts a value. `context`: the key in the store. */
  seal(value: Uint8Array, context: string): Uint8Array;
  /**
   * Decrypts `data`, the bytes after the prefix. Throws if `seal` did not produce them for this
   * context.
   */
  open(data: Uint8Array, context: string): Uint8Array;
}

export class Transformer {
  /** One cipher for each key of each provider. The first one encrypts. */
  readonly #ciphers: readonly Cipher[];

  constructor(providers: readonly ProviderConfiguration[], random: Random) {
    this.#ciphers = providers.flatMap((provider) => ciphersOf(provider, random));
  }

  seal(value: Uint8Array, context: string): Uint8Array {
    const cipher = this.#ciphers[0];
    if (cipher === undefined) throw new Error('encryption: no provider is configured');
    return cipher.prefix.length === 0
      ? value
      : inOwnMemory([cipher.prefix, cipher.seal(value, context)]);
  }

  /** Decrypts a stored value. Throws if no configured cipher can read it. */
  open(stored: Uint8Array, context: string): Opened {
    let failure: Error | undefined;
    for (const [i, cipher] of this.#ciphers.entries()) {
      if (!startsWith(stored, cipher.prefix)) continue;
      try {
        return { value: cipher.open(stored.subarray(cipher.prefix.length), context), stale: i > 0 };
      } catch (error) {
        // Another cipher may have the same key name, so the loop goes on.
        failure ??= error instanceof Error ? error : new Error(String(error));
      }
    }
    throw failure ?? new Error('no matching prefix found');
  }
}

function ciphersOf(provider: ProviderConfiguration, random: Random): Cipher[] {
  switch (provider.type) {
    case 'identity':
      return [identity];
    case 'aesgcm':
      return provider.keys.map((key) => aesGcm(key, random));
    case 'aescbc':
      return provider.keys.map((key) => aesCbc(key, random));
    case 'secretbox':
      return provider.keys.map((key) => secretbox(key, random));
  }
}

/** Reads and writes values that are not encrypted. */
export const identity: Cipher = {
  prefix: Buffer.alloc(0),
  seal: (value) => value,
  open(data) {
    if (startsWith(data, Buffer.from(MARK)))
      throw new Error('identity transformer tried to read encrypted data');
    return data;
  },
};

function aesGcm({ name, secret }: EncryptionKey, random: Random): Cipher {
  const algorithm = `aes-${secret.length * 8}-gcm` as 'aes-256-gcm';
  return {
    prefix: Buffer.from(`${MARK}aesgcm:v1:${name}:`),
    seal(value, context) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(algorithm, secret, nonce).setAAD(Buffer.from(context));
      return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
    },
    open(data, context) {
      if (data.length < NONCE_BYTES + TAG_BYTES)
        throw new Error('the stored data was shorter than the required size');
      const end = data.length - TAG_BYTES;
      const decipher = createDecipheriv(algorithm, secret, data.subarray(0, NONCE_BYTES), {
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
}

function aesCbc({ name, secret }: EncryptionKey, random: Random): Cipher {
  const algorithm = `aes-${secret.length * 8}-cbc`;
  return {
    prefix: Buffer.from(`${MARK}aescbc:v1:${name}:`),
    seal(value) {
      const vector = random.bytes(BLOCK_BYTES);
      const cipher = createCipheriv(algorithm, secret, vector);
      return Buffer.concat([vector, cipher.update(value), cipher.final()]);
    },
    open(data) {
      if (data.length < 2 * BLOCK_BYTES)
        throw new Error('the stored data was shorter than the required size');
      if (data.length % BLOCK_BYTES !== 0)
        throw new Error('the stored data is not a multiple of the block size');
      const decipher = createDecipheriv(algorithm, secret, data.subarray(0, BLOCK_BYTES));
      try {
        return inOwnMemory([decipher.update(data.subarray(BLOCK_BYTES)), decipher.final()]);
      } catch (error) {
        throw new Error('invalid padding on input', { cause: error });
      }
    },
  };
}

function secretbox({ name, secret }: EncryptionKey, random: Random): Cipher {
  return {
    prefix: Buffer.from(`${MARK}secretbox:v1:${name}:`),
    seal(value) {
      const nonce = random.bytes(SECRETBOX_NONCE_BYTES);
      return Buffer.concat([nonce, xsalsa20poly1305(secret, nonce).encrypt(value)]);
    },
    open(data) {
      if (data.length < SECRETBOX_NONCE_BYTES + TAG_BYTES)
        throw new Error('the stored data was shorter than the required size');
      const [nonce, box] = [
        data.subarray(0, SECRETBOX_NONCE_BYTES),
        data.subarray(SECRETBOX_NONCE_BYTES),
      ];
      try {
        return xsalsa20poly1305(secret, nonce).decrypt(box);
      } catch (error) {
        throw new Error('cipher: message authentication failed', { cause: error });
      }
    },
  };
}

/**
 * Concatenates the parts in a buffer outside of Node's pool. Stored and decrypted values live long,
 * and would keep the pool's whole slab in memory.
 */
function inOwnMemory(parts: readonly Uint8Array[]): Buffer {
  const joined = Buffer.allocUnsafeSlow(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function startsWith(data: Uint8Array, prefix: Uint8Array): boolean {
  return data.length >= prefix.length && prefix.every((byte, i) => data[i] === byte);
}
