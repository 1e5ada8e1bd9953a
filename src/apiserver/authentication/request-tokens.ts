// Authenticates requests by their tokens: bearer tokens in the header Authorization, and those of
// WebSockets.

import type { Awaitable } from '#machinery/awaitable.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import {
  type Authenticator,
  bearerToken,
  type TokenAnswer,
  type TokenAuthenticator,
} from './authenticator.ts';
import { webSocketToken } from './websocket-token.ts';

type TokenRequest = Pick<ApiRequest, 'headers' | 'credentialNotes'>;

export class RequestTokens implements Authenticator {
  readonly #authenticators: readonly TokenAuthenticator[];

  /** Creates the authenticator. The first of `authenticators` that accepts a token decides. */
  constructor(authenticators: readonly TokenAuthenticator[]) {
    this.#authenticators = authenticators;
  }

  authenticate(request: TokenRequest): Awaitable<UserInfo | undefined> {
    const { headers } = request;
    const token = bearerToken(headers) ?? webSocketToken(headers);
    return token === undefined ? undefined : this.#userOf(request, token, 0);
  }

  /** Asks the authenticators from index `from` on. Returns synchronously as long as they do. */
  #userOf(request: TokenRequest, token: string, from: number): Awaitable<UserInfo | undefined> {
    for (let n = from; n < this.#authenticators.length; n++) {
      // The token is for the API server itself.
      const answer = this.#authenticators[n]!.authenticateToken(token, []);
      if (answer instanceof Promise)
        return answer.then((late) =>
          late === undefined ? this.#userOf(request, token, n + 1) : noted(request, late),
        );
      if (answer !== undefined) return noted(request, answer);
    }
    return undefined;
  }
}

function noted(request: TokenRequest, { user, notes }: TokenAnswer): UserInfo {
  if (notes !== undefined) request.credentialNotes = notes;
  return user;
}
