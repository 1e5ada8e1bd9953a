// The providers whose keys are in the configuration file.
//
//   aesgcm    nonce (12 bytes), ciphertext, tag (16 bytes); the store's key is authenticated, too
//   aescbc    initialization vector (16 bytes), ciphertext, PKCS #7 padding; not authenticated, so
//             only for existing data
//   secretbox nonce (24 bytes), tag (16 bytes), ciphertext: XSalsa20 and Poly1305
//   identity  the value itself

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { Random } from '#machinery/random.ts';
import type { Opened } from '../transformed-storage.ts';
import { aesGcm, type Cipher, inOwnMemory, MARK, startsWith } from './cipher.ts';
import type { EncryptionKey, LocalProvider } from './config.ts';

const TAG_BYTES = 16;
const BLOCK_BYTES = 16;
const SECRETBOX_NONCE_BYTES = 24;

/** Returns a cipher for each key of the provider. */
export function localCiphers(provider: LocalProvider, random: Random): readonly Cipher[] {
  switch (provider.type) {
    case 'identity':
      return [identity];
    case 'aesgcm':
      return provider.keys.map((key) => aesGcmCipher(key, random));
    case 'aescbc':
      return provider.keys.map((key) => aesCbcCipher(key, random));
    case 'secretbox':
      return provider.keys.map((key) => secretboxCipher(key, random));
  }
}

const fresh = (value: Uint8Array): Opened => ({ value, stale: false });

/** Reads and writes values that are not encrypted. */
const identity: Cipher = {
  prefix: Buffer.alloc(0),
  seal: (value) => value,
  open(data) {
    if (startsWith(data, Buffer.from(MARK)))
      throw new Error('identity transformer tried to read encrypted data');
    return fresh(data);
  },
};

function aesGcmCipher({ name, secret }: EncryptionKey, random: Random): Cipher {
  return {
    prefix: Buffer.from(`${MARK}aesgcm:v1:${name}:`),
    seal: (value, context) => aesGcm.seal(secret, value, context, random),
    open: (data, context) => fresh(aesGcm.open(secret, data, context)),
  };
}

function aesCbcCipher({ name, secret }: EncryptionKey, random: Random): Cipher {
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
        return fresh(inOwnMemory([decipher.update(data.subarray(BLOCK_BYTES)), decipher.final()]));
      } catch (error) {
        throw new Error('invalid padding on input', { cause: error });
      }
    },
  };
}

function secretboxCipher({ name, secret }: EncryptionKey, random: Random): Cipher {
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
        return fresh(xsalsa20poly1305(secret, nonce).decrypt(box));
      } catch (error) {
        throw new Error('cipher: message authentication failed', { cause: error });
      }
    },
  };
}
