// A bootstrap token in its Secret. With it, a machine without other credentials can join the
// cluster.

import type { Secret } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type ReadSecret = Immutable<Secret>;

export const BOOTSTRAP_TOKEN_NAMESPACE = 'kube-system';
export const BOOTSTRAP_TOKEN_TYPE = 'bootstrap.kubernetes.io/token';

const NAME = /^bootstrap-token-([a-z0-9]{6})$/;
/** The RFC 3339 form that the key `expiration` must have. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Returns when the token expires, in milliseconds since the epoch; undefined for a token without an
 * expiration. A time that cannot be parsed counts as expired.
 */
export function expirationOf(secret: ReadSecret): number | undefined {
  const text = valueOf(secret, 'expiration');
  if (text === '') return undefined;
  return TIME.test(text) ? Date.parse(text) : 0;
}

/**
 * Returns the token if it may sign the public cluster info; undefined if it may not, or has
 * expired.
 */
export function signingToken(
  secret: ReadSecret,
  nowMs: number,
): { readonly id: string; readonly secret: string } | undefined {
  const id = NAME.exec(secret.metadata.name)?.[1];
  const key = valueOf(secret, 'token-secret');
  if (
    secret.type !== BOOTSTRAP_TOKEN_TYPE ||
    id === undefined ||
    valueOf(secret, 'token-id') !== id ||
    key === ''
  )
    return undefined;
  if (
    valueOf(secret, 'usage-bootstrap-signing') !== 'true' ||
    secret.metadata.deletionTimestamp !== undefined
  )
    return undefined;
  const expires = expirationOf(secret);
  return expires !== undefined && expires <= nowMs ? undefined : { id, secret: key };
}

function valueOf({ data }: ReadSecret, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
}
