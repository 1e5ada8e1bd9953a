// Keys for JSON web tokens: RSA and the curves P-256, P-384 and P-521, which Kubernetes accepts for
// tokens of ServiceAccounts.

import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';

export type TokenAlgorithm = 'RS256' | 'ES256' | 'ES384' | 'ES512';

/** A key that signs or verifies tokens. */
export interface TokenKey {
  /**
   * Derived from the public key, as upstream does, or given by an external signer. A verifier selects
   * the key of an issuer by this ID.
   */
  readonly keyId: string;
  readonly algorithm: TokenAlgorithm;
  readonly publicKey: KeyObject;
}

const HASHES: Readonly<Record<TokenAlgorithm, string>> = {
  RS256: 'sha256',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
};
const CURVES: Readonly<Record<string, TokenAlgorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/**
 * Returns the TokenKey for a public key. `keyId`: the ID that its signer uses; default: the one that
 * is derived. Throws TypeError for types of keys that cannot sign tokens.
 */
export function tokenKey(key: KeyObject, keyId = derivedId(key)): TokenKey {
  return {
    keyId,
    algorithm: algorithmOf(key),
    publicKey: key,
  };
}

const derivedId = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url');

/**
 * Returns the public keys of a PEM text with one or more blocks: public keys, certificates and
 * private keys (their public part). Throws TypeError if there is no key, or a key of another type.
 */
export function tokenKeysOf(pem: string): readonly TokenKey[] {
  const blocks = pem.match(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g) ?? [];
  // OpenSSL writes the parameters of a curve before its key.
  const keys = blocks
    .filter((block) => !block.startsWith('-----BEGIN EC PARAMETERS-----'))
    .map((block) => tokenKey(publicKeyOf(block)));
  if (keys.length === 0) throw new TypeError('no PEM-encoded key');
  return keys;
}

export interface TokenSigner extends TokenKey {
  /** Returns a compact JSON web signature (RFC 7515) of the claims. */
  sign(claims: object): string;
}

/**
 * Returns a signer. `pem`: a private key. Node's own signing is five times as fast as the Web
 * Cryptography of libraries. Verifying is left to a library, because mistakes there are more
 * dangerous. Throws TypeError.
 */
export function tokenSigner(pem: string): TokenSigner {
  const privateKey = createPrivateKey(pem);
  const key = tokenKey(createPublicKey(privateKey));
  const part = (value: object): string =>
    Buffer.from(JSON.stringify(value), 'utf8').toString('base64url');
  const header = part({ alg: key.algorithm, kid: key.keyId });
  const hash = HASHES[key.algorithm];
  return {
    ...key,
    sign(claims) {
      const text = `${header}.${part(claims)}`;
      const signature = sign(hash, Buffer.from(text, 'latin1'), {
        key: privateKey,
        dsaEncoding: 'ieee-p1363',
      });
      return `${text}.${signature.toString('base64url')}`;
    },
  };
}

/** Returns the key as a member of a JSON web key set (RFC 7517). */
export function publicJwk({
  keyId,
  algorithm,
  publicKey,
}: TokenKey): Readonly<Record<string, unknown>> {
  const { kty, crv, x, y, n, e } = publicKey.export({ format: 'jwk' });
  const head = { use: 'sig', kty, kid: keyId };
  return kty === 'RSA' ? { ...head, alg: algorithm, n, e } : { ...head, crv, alg: algorithm, x, y };
}

function publicKeyOf(block: string): KeyObject {
  try {
    return createPublicKey(block);
  } catch (error) {
    throw new TypeError(`cannot parse the key: ${(error as Error).message}`, { cause: error });
  }
}

function algorithmOf(key: KeyObject): TokenAlgorithm {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  const curve = key.asymmetricKeyType === 'ec' ? (key.asymmetricKeyDetails?.namedCurve ?? '') : '';
  const algorithm = CURVES[curve];
  if (algorithm === undefined)
    throw new TypeError('the key must be RSA, or EC on P-256, P-384 or P-521');
  return algorithm;
}
