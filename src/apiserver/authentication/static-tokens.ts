// Authenticates the bearer tokens of the server's configuration.

import { createHash } from 'node:crypto';

import type { UserInfo } from '../request.ts';
import { serverAudiences, type TokenAnswer, type TokenAuthenticator } from './authenticator.ts';

export class StaticTokenAuthenticator implements TokenAuthenticator {
  /**
   * Users by the token's digest, so that the time of a lookup does not depend on how much of a
   * token is right.
   */
  readonly #users = new Map<string, UserInfo>();

  readonly #audiences: readonly string[];

  /**
   * Creates the authenticator. `audiences`: the API server's audiences. Static tokens are valid
   * only for them.
   */
  constructor(tokens: ReadonlyMap<string, UserInfo>, audiences: readonly string[]) {
    this.#audiences = audiences;
    for (const [token, user] of tokens) this.#users.set(digest(token), user);
  }

  authenticateToken(token: string, audiences: readonly string[]): TokenAnswer | undefined {
    const user = this.#users.get(digest(token));
    if (user === undefined) return undefined;
    const common = serverAudiences(this.#audiences, audiences);
    return common && { user, audiences: common };
  }
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
