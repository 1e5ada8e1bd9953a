// The HTTP side of streaming: which upgrade a request asks for, the negotiated protocol, and the
// responses.

import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const spdyProtocolHeader = 'x-stream-protocol-version';

/** The protocol that a request upgrades to. */
export type UpgradeKind = 'spdy' | 'websocket' | 'none';

export function upgradeKind(request: Pick<IncomingMessage, 'headers'>): UpgradeKind {
  const connection = request.headers.connection ?? '';
  if (!/(^|,)\s*upgrade\s*(,|$)/i.test(connection)) return 'none';
  const upgrade = (request.headers.upgrade ?? '').toLowerCase();
  if (upgrade.startsWith('spdy/3.1')) return 'spdy';
  return upgrade === 'websocket' ? 'websocket' : 'none';
}

/** Returns the values of a comma-separated header, whether it was sent once or several times. */
export function headerList(request: Pick<IncomingMessage, 'headers'>, name: string): string[] {
  const value = request.headers[name];
  const text = Array.isArray(value) ? value.join(',') : (value ?? '');
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Returns the first of the client's protocols that the server supports. */
export function negotiate(
  client: readonly string[],
  server: readonly string[],
): string | undefined {
  return client.find((protocol) => server.includes(protocol));
}

/** Sends an error for an upgrade request and closes the connection. */
export function refuseUpgrade(
  socket: Duplex,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (socket.destroyed) return;
  const body = Buffer.from(`${message}\n`);
  const lines = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}`,
    'Content-Type: text/plain; charset=utf-8',
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${body.length}`,
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  // The client may have disconnected already.
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]));
}

/**
 * Negotiates the protocol inside SPDY and responds with 101. Returns undefined if the request was
 * rejected.
 */
export function acceptSpdy(
  request: IncomingMessage,
  socket: Duplex,
  protocols: readonly string[],
): string | undefined {
  const requested = headerList(request, spdyProtocolHeader);
  if (requested.length === 0) {
    refuseUpgrade(socket, 400, 'unable to upgrade: X-Stream-Protocol-Version is required');
    return undefined;
  }
  const protocol = negotiate(requested, protocols);
  if (protocol === undefined) {
    const message =
      'unable to upgrade: unable to negotiate protocol: client supports ' +
      `[${requested.join(' ')}], server accepts [${protocols.join(' ')}]`;
    refuseUpgrade(socket, 403, message, {
      'X-Accepted-Stream-Protocol-Versions': protocols.join(', '),
    });
    return undefined;
  }
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\n' +
      'Connection: Upgrade\r\n' +
      'Upgrade: SPDY/3.1\r\n' +
      `X-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  return protocol;
}
