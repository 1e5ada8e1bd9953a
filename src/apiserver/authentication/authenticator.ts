// Authentication: finds the user of a request.

import type { ApiRequest, UserInfo } from '../request.ts';

export const AUTHENTICATED_GROUP = 'system:authenticated';
export const UNAUTHENTICATED_GROUP = 'system:unauthenticated';

/** The user of requests without credentials. */
export const ANONYMOUS: UserInfo = { name: 'system:anonymous', groups: [UNAUTHENTICATED_GROUP] };

export interface Authenticator {
  /** Undefined: these are not credentials that this one knows. It does not throw for wrong ones. */
  authenticate(
    request: Pick<ApiRequest, 'headers' | 'peerCertificate'> &
      Partial<Pick<ApiRequest, 'rawHeaders'>>,
  ): UserInfo | undefined | Promise<UserInfo | undefined>;
}

/** An authenticator of bearer tokens, which TokenReview asks too. */
export interface TokenAuthenticator {
  /** `audiences`: those the token must be for, at least one of them; empty: the API server's own. */
  authenticateToken(
    token: string,
    audiences: readonly string[],
  ): TokenAnswer | undefined | Promise<TokenAnswer | undefined>;
}

export interface TokenAnswer {
  readonly user: UserInfo;
  /** The requested audiences that the token is for. */
  readonly audiences: readonly string[];
}

/** The bearer token of a request; undefined if it has none. */
export function bearerToken(headers: ApiRequest['headers']): string | undefined {
  const value = headers['authorization'];
  if (value === undefined || value.length < 8) return undefined;
  if (value.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  const token = value.slice(7).trim();
  return token === '' ? undefined : token;
}

/** Longer tokens are not read. Those of ServiceAccounts have about 1 KiB. */
const MAX_TOKEN_LENGTH = 64 * 1024;

/** Reports whether a token may be a JSON web token: three parts with dots between them. */
export function looksLikeJwt(token: string): boolean {
  return token.length <= MAX_TOKEN_LENGTH && token.split('.', 4).length === 3;
}

/** By how much the clocks of a token's issuer and of this server may differ, as upstream: its times are checked with this leeway. */
export const CLOCK_LEEWAY_SECONDS = 60;
