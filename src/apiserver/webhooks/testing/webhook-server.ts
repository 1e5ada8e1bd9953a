// A webhook server for tests: TLS on loopback, with a handler that the test sets, and a record of
// requests.

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

import { makeTestAuthority } from '../../testing/certificates.ts';

export interface ReceivedRequest {
  readonly method: string;
  /** The URL with its query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Responds to one request in any way. If it does nothing, the request hangs. */
export type WebhookHandler = (
  request: ReceivedRequest,
  response: ServerResponse,
  socket: Socket,
) => void | Promise<void>;

export interface WebhookServer {
  readonly port: number;
  /** The server's URL, 'https://127.0.0.1:PORT', without a path. */
  readonly url: string;
  /** The authority as in configurations: PEM, in base64. */
  readonly caBundle: string;
  /** The server's own certificate in the same form. */
  readonly ownBundle: string;
  readonly received: ReceivedRequest[];
  /** The number of connections since the start. */
  readonly connections: number;
  handler: WebhookHandler;
  stop(): Promise<void>;
}

export interface WebhookServerConfig {
  /** Names in the certificate, in addition to 127.0.0.1 and localhost. */
  readonly dnsNames?: readonly string[];
  readonly handler: WebhookHandler;
}

export async function startWebhookServer(config: WebhookServerConfig): Promise<WebhookServer> {
  const authority = await makeTestAuthority();
  const { cert, key } = await authority.server(config.dnsNames);
  const sockets = new Set<Socket>();
  const received: ReceivedRequest[] = [];
  let connections = 0;
  const server = createServer({ cert, key, keepAliveTimeout: 60_000 }, (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', () => undefined);
    incoming.on('end', () => {
      const { method = '', url = '', headers, socket } = incoming;
      const request = { method, url, headers, body: Buffer.concat(chunks).toString() };
      received.push(request);
      void webhook.handler(request, response, socket);
    });
  });
  server.on('secureConnection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const webhook = {
    port,
    url: `https://127.0.0.1:${port}`,
    caBundle: Buffer.from(authority.cert).toString('base64'),
    ownBundle: Buffer.from(cert).toString('base64'),
    received,
    get connections() {
      return connections;
    },
    handler: config.handler,
    stop: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return webhook;
}

/** Responds with JSON. */
export function respondJson(response: ServerResponse, value: unknown, code = 200): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
