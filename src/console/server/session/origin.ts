// Which requests may use the cookie of a session. A page of another origin can make a browser send
// the cookie, but it can neither set a header of its own without the server's consent, which is
// never given, nor change the Origin of a WebSocket.

import { isOwnOrigin } from '#machinery/net/origin.ts';
import type { ConsoleRequest } from '../http.ts';

/** The header with which the console's pages mark their requests. */
export const HEADER = 'x-coxswain-console';

type Headers = ConsoleRequest['headers'];

/** Reports whether the console itself made the request, as far as its headers show. */
export function isFromConsole({ headers, upgrade }: ConsoleRequest): boolean {
  if (isCrossSite(headers)) return false;
  // Browsers' WebSockets cannot have headers, but always have an Origin.
  if (upgrade !== undefined && headers['upgrade']?.toLowerCase() === 'websocket')
    return headers['origin'] !== undefined && isOwnOrigin(headers);
  return headers[HEADER] === '1' && (headers['origin'] === undefined || isOwnOrigin(headers));
}

function isCrossSite(headers: Headers): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}
