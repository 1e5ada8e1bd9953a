// The bearer tokens of browsers' WebSockets, which cannot have the header Authorization. The token is
// one of the requested subprotocols, encoded as base64url. Servers behind this one must not get it:
// proxies remove it with `withoutToken`.

import type { ApiRequest } from '../request.ts';

const PREFIX = 'base64url.bearer.authorization.k8s.io.';
const PROTOCOL_HEADER = 'sec-websocket-protocol';
const BASE64URL = /^[A-Za-z0-9_-]+$/;

type Headers = ApiRequest['headers'];

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
 * Returns the token of a request. Undefined if there is none or several, if it is malformed, or
 * without another subprotocol: the response must name one, and never the token.
 */
export function webSocketToken(headers: Headers): string | undefined {
  if (!hasWebSocketToken(headers)) return undefined;
  const names = namesIn(headers[PROTOCOL_HEADER] ?? '');
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
