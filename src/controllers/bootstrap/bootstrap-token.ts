// A bootstrap token in its Secret. With it, a machine without other credentials can join the
// cluster.

import type { Secret } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type ReadSecret = Immutable<Secret>;

export const BOOTSTRAP_TOKEN_NAMESPACE = 'kube-system';
export const BOOTSTRAP_TOKEN_TYPE = 'bootstrap.kubernetes.io/token';

const NAME = /^bootstrap-token-([a-z0-9]{6})$/;
/** RFC 3339, as the key `expiration` must have it. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/**
 * In milliseconds since the epoch; undefined for tokens that last. One whose time cannot be read
 * has expired.
 */
export function expirationOf(secret: ReadSecret): number | undefined {
  const text = valueOf(secret, 'expiration');
  if (text === '') return undefined;
  return TIME.test(text) ? Date.parse(text) : 0;
}

/** The token, if it may be used to sign what is public; undefined if not, or not any more. */
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
