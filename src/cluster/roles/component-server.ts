// The port of a role that is no API server: whether it is well.

import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { KeyPair } from '../pki.ts';
import { UserError } from '../user-error.ts';

export interface ComponentServerConfig {
  readonly bindAddress: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tls: KeyPair;
  /** Throws if something is wrong. */
  readonly check?: () => void;
}

export interface ComponentServer {
  readonly port: number;
  close(): Promise<void>;
}

const HEALTH = new Set(['/healthz', '/livez', '/readyz']);

/** Rejects with UserError if the port cannot be had. */
export async function startComponentServer(config: ComponentServerConfig): Promise<ComponentServer> {
  const { bindAddress, port, tls, check } = config;
  const server = createServer({ cert: tls.cert, key: tls.key }, (request, response) => {
    const path = (request.url ?? '/').split('?')[0] as string;
    const answer = (code: number, text: string): void => {
      response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' });
      response.end(text);
    };
    if (!HEALTH.has(path)) return answer(404, '404 page not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'method not allowed\n');
    try {
      check?.();
    } catch (err) {
      return answer(500, `${path.slice(1)} check failed: ${(err as Error).message}\n`);
    }
    answer(200, 'ok');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, bindAddress, resolve);
  }).catch((err: unknown) => {
    throw new UserError(
      `cannot listen on ${bindAddress}, port ${port}: ${(err as Error).message}. See --secure-port and --bind-address.`,
      {
        cause: err,
      },
    );
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
