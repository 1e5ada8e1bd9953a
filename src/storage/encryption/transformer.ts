// Values as they are stored, encrypted as Kubernetes does it: `k8s:enc:PROVIDER:v1:KEYNAME:` and then what the provider makes of
// the value. What one server wrote the other reads.
//
//   aesgcm   nonce (12 bytes), ciphertext, tag (16 bytes); the key of the store is authenticated with it
//   aescbc   initialization vector (16 bytes), ciphertext, padded as PKCS #7 has it; not authenticated, so only for what is there
//   secretbox nonce (24 bytes), tag (16 bytes), ciphertext: XSalsa20 and Poly1305
//   identity the value itself

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { Random } from '#machinery/random.ts';
import type { EncryptionKey, ProviderConfiguration } from './config.ts';

const MARK = 'k8s:enc:';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const BLOCK_BYTES = 16;
const SECRETBOX_NONCE_BYTES = 24;

/** A value as it is stored, read. */
export interface Opened {
  readonly value: Uint8Array;
  /** It was not written as it would be now: with another provider, or another key. */
  readonly stale: boolean;
}

interface Cipher {
  /** The prefix of values that this transformer wrote. */
  readonly prefix: Buffer;
  /** `context`: the key of the store. */
  seal(value: Uint8Array, context: string): Uint8Array;
  /** `data`: what follows the prefix. Throws if it is not what was sealed. */
  open(data: Uint8Array, context: string): Uint8Array;
}

export class Transformer {
  /** One for each key of each provider; the first one writes. */
  readonly #ciphers: readonly Cipher[];

  constructor(providers: readonly ProviderConfiguration[], random: Random) {
    this.#ciphers = providers.flatMap((provider) => ciphersOf(provider, random));
  }

  seal(value: Uint8Array, context: string): Uint8Array {
    const cipher = this.#ciphers[0];
    if (cipher === undefined) throw new Error('encryption: there is no provider');
    return cipher.prefix.length === 0
      ? value
      : inOwnMemory([cipher.prefix, cipher.seal(value, context)]);
  }

  /** Throws if nothing that is configured can read it. */
  open(stored: Uint8Array, context: string): Opened {
    let failure: Error | undefined;
    for (const [i, cipher] of this.#ciphers.entries()) {
      if (!startsWith(stored, cipher.prefix)) continue;
      try {
        return { value: cipher.open(stored.subarray(cipher.prefix.length), context), stale: i > 0 };
      } catch (error) {
        // Keys may have the same name.
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

/** Not from Node's pool: what is stored, and what was read of it, lives long, and would keep its whole slab. */
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
