// Bearer tokens that are known from the start: those of the components.

import { createHash } from 'node:crypto';

import type { ApiRequest, UserInfo } from '../request.ts';
import { bearerToken } from './authenticator.ts';
import type { Authenticator, TokenAnswer, TokenAuthenticator } from './authenticator.ts';

export class StaticTokenAuthenticator implements Authenticator, TokenAuthenticator {
  /** By the token's digest: how long a lookup takes says nothing about the tokens. */
  readonly #users = new Map<string, UserInfo>();

  constructor(tokens: ReadonlyMap<string, UserInfo>) {
    for (const [token, user] of tokens) this.#users.set(digest(token), user);
  }

  authenticate(request: Pick<ApiRequest, 'headers'>): UserInfo | undefined {
    const token = bearerToken(request.headers);
    return token === undefined ? undefined : this.#users.get(digest(token));
  }

  authenticateToken(token: string, audiences: readonly string[]): TokenAnswer | undefined {
    const user = this.#users.get(digest(token));
    return user === undefined ? undefined : { user, audiences };
  }
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
