// A bootstrap token in its Secret. With it, a machine without other credentials can join the
// cluster.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Secret } from './index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type ReadSecret = Immutable<Secret>;

export const BOOTSTRAP_TOKEN_NAMESPACE = 'kube-system';
export const BOOTSTRAP_TOKEN_TYPE = 'bootstrap.kubernetes.io/token';

const DEFAULT_GROUP = 'system:bootstrappers';
const GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
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

/** The user of a bootstrap token. */
export interface BootstrapUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** Returns the parts of a bootstrap token; undefined for any other text. */
export function parseBootstrapToken(
  token: string,
): { readonly id: string; readonly secret: string } | undefined {
  const [, id, secret] = TOKEN.exec(token) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** Returns the name of the Secret of a token. */
export const bootstrapSecretName = (id: string): string => `bootstrap-token-${id}`;

/**
 * Returns the user of a token that may authenticate; undefined if it may not, has expired, or has
 * other contents than the Secret. Takes the same time for every wrong secret.
 */
export function bootstrapUser(
  object: ReadSecret,
  token: { readonly id: string; readonly secret: string },
  nowMs: number,
): BootstrapUser | undefined {
  const expires = expirationOf(object);
  const isUsable =
    object.type === BOOTSTRAP_TOKEN_TYPE &&
    object.metadata.deletionTimestamp === undefined &&
    isEqual(valueOf(object, 'token-secret'), token.secret) &&
    valueOf(object, 'token-id') === token.id &&
    (expires === undefined || expires > nowMs) &&
    valueOf(object, 'usage-bootstrap-authentication') === 'true';
  if (!isUsable) return undefined;
  const extra = valueOf(object, 'auth-extra-groups');
  const groups = extra === '' ? [] : extra.split(',');
  // One invalid group makes the token invalid.
  if (!groups.every((group) => GROUP.test(group))) return undefined;
  return {
    name: `system:bootstrap:${token.id}`,
    groups: [...new Set([DEFAULT_GROUP, ...groups])].sort(),
  };
}

/** Compares digests, since texts of different lengths cannot be compared in constant time. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

function valueOf({ data }: ReadSecret, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
}
