// Authenticates WebSockets of browsers, which cannot set the header Authorization. The bearer token
// is one of the requested subprotocols, encoded as base64url. Servers behind this one must not get
// it: proxies remove it with `withoutToken`.

import type { ApiRequest, UserInfo } from '../request.ts';
import type { Authenticator, TokenAuthenticator } from './authenticator.ts';

const PREFIX = 'base64url.bearer.authorization.k8s.io.';
const PROTOCOL_HEADER = 'sec-websocket-protocol';
const BASE64URL = /^[A-Za-z0-9_-]+$/;

type Headers = ApiRequest['headers'];

export class WebSocketTokenAuthenticator implements Authenticator {
  readonly #authenticators: readonly TokenAuthenticator[];

  /** Creates the authenticator. The first of `authenticators` that accepts the token decides. */
  constructor(authenticators: readonly TokenAuthenticator[]) {
    this.#authenticators = authenticators;
  }

  authenticate({
    headers,
  }: Pick<ApiRequest, 'headers'>): Promise<UserInfo | undefined> | undefined {
    const token = hasWebSocketToken(headers) ? tokenIn(headers[PROTOCOL_HEADER] ?? '') : undefined;
    return token === undefined ? undefined : this.#userOf(token);
  }

  async #userOf(token: string): Promise<UserInfo | undefined> {
    for (const authenticator of this.#authenticators) {
      const answer = await authenticator.authenticateToken(token, []);
      if (answer !== undefined) return answer.user;
    }
    return undefined;
  }
}

/** Reports whether the request opens a WebSocket and has a token among its subprotocols. */
export function hasWebSocketToken(headers: Headers): boolean {
  return (
    headers['upgrade']?.toLowerCase() === 'websocket' &&
    headers[PROTOCOL_HEADER]?.includes(PREFIX) === true
  );
}

/** Returns a list of subprotocols without the token. */
export function withoutToken(protocols: string): string {
  if (!protocols.includes(PREFIX)) return protocols;
  return namesIn(protocols)
    .filter((name) => !name.startsWith(PREFIX))
    .join(', ');
}

/**
 * Returns the token. Undefined if there are several, if it is malformed, or without another
 * subprotocol: the response must name one, and never the token.
 */
function tokenIn(protocols: string): string | undefined {
  const names = namesIn(protocols);
  const [encoded, ...more] = names
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => name.slice(PREFIX.length));
  if (encoded === undefined || more.length > 0 || names.length === 1) return undefined;
  if (!BASE64URL.test(encoded)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64url'));
  } catch {
    // The bytes are not UTF-8.
    return undefined;
  }
}

const namesIn = (protocols: string): readonly string[] =>
  protocols
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
