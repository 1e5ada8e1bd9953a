// Private keys as PEM, in the form that most clients can read.

import { createPrivateKey, type KeyObject } from 'node:crypto';

/**
 * Returns the key as PEM: keys of elliptic curves in SEC1 form (`BEGIN EC PRIVATE KEY`), other keys
 * in PKCS #8. Java's fabric8 client takes every PKCS #8 key for an RSA key.
 */
export function privateKeyPem(key: KeyObject): string {
  const type = key.asymmetricKeyType === 'ec' ? 'sec1' : 'pkcs8';
  return key.export({ type, format: 'pem' }).toString();
}

/** Returns a key in PEM in the form of `privateKeyPem`. Throws if `pem` is not a private key. */
export function normalizedPrivateKey(pem: string): string {
  return privateKeyPem(createPrivateKey(pem));
}
