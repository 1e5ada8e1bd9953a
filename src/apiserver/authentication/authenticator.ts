// Authentication: finds the user of a request.

import { isPlainObject } from '#machinery/deep.ts';
import type { ApiRequest, UserInfo } from '../request.ts';

export const AUTHENTICATED_GROUP = 'system:authenticated';
export const UNAUTHENTICATED_GROUP = 'system:unauthenticated';

/** The user of requests without credentials. */
export const ANONYMOUS: UserInfo = { name: 'system:anonymous', groups: [UNAUTHENTICATED_GROUP] };

export interface Authenticator {
  /**
   * Returns the user of the request's credentials. Undefined: the request has no credentials that
   * this authenticator recognizes. Does not throw for wrong ones.
   */
  authenticate(
    request: Pick<ApiRequest, 'headers' | 'peerCertificate'> &
      Partial<Pick<ApiRequest, 'rawHeaders' | 'credentialNotes'>>,
  ): UserInfo | undefined | Promise<UserInfo | undefined>;
}

/**
 * Receives the reason why a token that is the authenticator's own is not valid, for the status of a
 * TokenReview. Returns undefined, as the authenticator does.
 */
export type Refuse = (reason: string) => undefined;

/** A Refuse for requests, which do not show the reason. */
export const refuseSilently: Refuse = () => undefined;

/** An authenticator of bearer tokens, which TokenReview also uses. */
export interface TokenAuthenticator {
  /**
   * Authenticates a token. `audiences`: the token must be for at least one of them; empty: for the
   * API server itself. `refuse`: default refuseSilently. Undefined: the token is not valid, or not
   * of this authenticator; only the former has a reason.
   */
  authenticateToken(
    token: string,
    audiences: readonly string[],
    refuse?: Refuse,
  ): TokenAnswer | undefined | Promise<TokenAnswer | undefined>;
}

export interface TokenAnswer {
  readonly user: UserInfo;
  /** The requested audiences that the token is for. */
  readonly audiences: readonly string[];
  /** Annotations for the audit log about the token. Absent: none. */
  readonly notes?: Readonly<Record<string, string>>;
}

/**
 * Returns the audiences of a request that are those of the API server itself, for tokens that name
 * none. Undefined: the request is for others only, which must not accept a token of the API server.
 */
export function serverAudiences(
  own: readonly string[],
  requested: readonly string[],
): readonly string[] | undefined {
  const common = requested.filter((audience) => own.includes(audience));
  return requested.length > 0 && common.length === 0 ? undefined : common;
}

/**
 * Returns the bearer token of a request: the word after the scheme. Undefined if it has none, as
 * with another scheme, or with a second space before the token.
 */
export function bearerToken(headers: ApiRequest['headers']): string | undefined {
  const value = headers['authorization']?.trim();
  if (value === undefined || value.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  const end = value.indexOf(' ', 7);
  const token = end < 0 ? value.slice(7) : value.slice(7, end);
  return token === '' ? undefined : token;
}

/** The maximum length of a token. Tokens of ServiceAccounts have about 1 KiB. */
const MAX_TOKEN_LENGTH = 64 * 1024;

/** Reports whether a token may be a JSON web token: three parts, separated by dots. */
export function looksLikeJwt(token: string): boolean {
  return token.length <= MAX_TOKEN_LENGTH && token.split('.', 4).length === 3;
}

/** Returns the issuer that a JSON web token names, unverified. Undefined: it names none. */
export function issuerOf(token: string): unknown {
  try {
    const [, payload = ''] = token.split('.', 2);
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return isPlainObject(claims) ? claims['iss'] : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns audiences as upstream's messages show them. */
export const quotedAudiences = (audiences: readonly string[]): string =>
  `[${audiences.map((audience) => JSON.stringify(audience)).join(' ')}]`;

/**
 * The leeway when the times of a token are checked, in seconds, as upstream: the clocks of the
 * issuer and of this server may differ.
 */
export const CLOCK_LEEWAY_SECONDS = 60;
