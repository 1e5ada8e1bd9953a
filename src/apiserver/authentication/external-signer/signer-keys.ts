// Checks what a signer returns, by upstream's rules (pkg/serviceaccount/externaljwt/plugin), with
// upstream's messages.

import { createPublicKey } from 'node:crypto';
import { errorMessage } from '#machinery/error-message.ts';
import { type TokenKey, tokenKey } from '#machinery/token-keys.ts';
import { isPlainObject } from '#machinery/deep.ts';
import type { FetchedKeys } from './schema.ts';

const MAX_KEY_ID = 1024;
const ALGORITHMS = ['RS256', 'ES256', 'ES384', 'ES512'];
const BASE64URL = /^[\w-]*$/;

export interface SignerKey extends TokenKey {
  /** The key verifies tokens, but is not shown to other services, and signs no new ones. */
  readonly isHidden: boolean;
}

export interface SignerKeys {
  readonly keys: readonly SignerKey[];
  /** When the signer has read the keys, in seconds since the epoch. */
  readonly readAtSeconds: number;
  /** After how many seconds they are to be read again. */
  readonly refreshSeconds: number;
}

/** Throws an Error for keys that cannot be used. */
export function signerKeysOf(fetched: FetchedKeys): SignerKeys {
  const { keys, dataTimestamp, refreshHintSeconds } = fetched;
  if (refreshHintSeconds <= 0)
    throw new Error(`found invalid refresh hint (${refreshHintSeconds}s)`);
  if (keys.length === 0) throw new Error('found no keys');
  if (dataTimestamp === undefined) throw new Error('invalid data timestamp: it is missing');
  return {
    keys: keys.map(signerKeyOf),
    readAtSeconds: dataTimestamp.seconds + dataTimestamp.nanos / 1e9,
    refreshSeconds: refreshHintSeconds,
  };
}

function signerKeyOf({
  keyId,
  key,
  excludeFromOidcDiscovery,
}: FetchedKeys['keys'][number]): SignerKey {
  if (keyId === '' || keyId.length > MAX_KEY_ID)
    throw new Error(`found invalid public key id ${JSON.stringify(keyId)}`);
  if (key.length === 0) throw new Error('found empty public key');
  try {
    const publicKey = createPublicKey({ key: Buffer.from(key), format: 'der', type: 'spki' });
    return { ...tokenKey(publicKey, keyId), isHidden: excludeFromOidcDiscovery };
  } catch (error) {
    throw new Error(`while parsing external public keys: ${errorMessage(error)}`, { cause: error });
  }
}

/** Returns the ID of the key in the header of a token. Throws an Error for other headers. */
export function headerKeyId(header: string): string {
  if (!BASE64URL.test(header)) throw new Error('while unwrapping header: it is not base64url');
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'));
  } catch (error) {
    throw new Error(`while parsing header JSON: ${errorMessage(error)}`, { cause: error });
  }
  if (!isPlainObject(fields)) throw new Error('while parsing header JSON: it is no object');
  const { alg = '', kid = '', typ = '', ...others } = fields;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new Error(`while parsing header JSON: json: unknown field ${JSON.stringify(unknown)}`);
  if (typ !== 'JWT') throw new Error('bad type');
  if (typeof kid !== 'string' || kid === '') throw new Error('key id missing');
  if (kid.length > MAX_KEY_ID) throw new Error('key id longer than 1 kb');
  if (!ALGORITHMS.includes(String(alg)))
    throw new Error(`bad signing algorithm ${JSON.stringify(alg)}`);
  return kid;
}
