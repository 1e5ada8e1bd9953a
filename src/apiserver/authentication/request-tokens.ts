// Authenticates requests by their tokens: bearer tokens in the header Authorization, and those of
// WebSockets.

import type { Awaitable } from '#machinery/awaitable.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import { type Authenticator, bearerToken, type TokenAuthenticator } from './authenticator.ts';
import { webSocketToken } from './websocket-token.ts';

export class RequestTokens implements Authenticator {
  readonly #authenticators: readonly TokenAuthenticator[];

  /** Creates the authenticator. The first of `authenticators` that accepts a token decides. */
  constructor(authenticators: readonly TokenAuthenticator[]) {
    this.#authenticators = authenticators;
  }

  authenticate({ headers }: Pick<ApiRequest, 'headers'>): Awaitable<UserInfo | undefined> {
    const token = bearerToken(headers) ?? webSocketToken(headers);
    return token === undefined ? undefined : this.#userOf(token, 0);
  }

  /** Asks the authenticators from index `from` on. Returns synchronously as long as they do. */
  #userOf(token: string, from: number): Awaitable<UserInfo | undefined> {
    for (let n = from; n < this.#authenticators.length; n++) {
      // The token is for the API server itself.
      const answer = this.#authenticators[n]!.authenticateToken(token, []);
      if (answer instanceof Promise)
        return answer.then((late) => late?.user ?? this.#userOf(token, n + 1));
      if (answer !== undefined) return answer.user;
    }
    return undefined;
  }
}
