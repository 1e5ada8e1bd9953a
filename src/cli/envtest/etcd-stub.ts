// Stands in for etcd where a suite starts one for an API server that keeps its objects itself:
// answers health checks, keeps nothing.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { UserError } from '#cluster/user-error.ts';

export interface EtcdStub {
  /** One URL for each address, such as http://127.0.0.1:2379. */
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

const HEALTHY = JSON.stringify({ health: 'true', reason: '' });

/** Listens at URLs as `--listen-client-urls` has them. Rejects with UserError for one that is none, or that has TLS. */
export async function startEtcdStub(listenUrls: readonly string[]): Promise<EtcdStub> {
  const servers: Server[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => close(server)));
  };
  const urls: string[] = [];
  try {
    for (const { hostname, port } of listenUrls.map(parseListenUrl)) {
      const server = createServer((request, response) => {
        const healthy = request.method === 'GET' && request.url?.split('?')[0] === '/health';
        response.writeHead(healthy ? 200 : 404, {
          'content-type': healthy ? 'application/json' : 'text/plain',
        });
        response.end(healthy ? HEALTHY : 'this is no etcd: it answers /health only\n');
      });
      server.listen(port, hostname);
      await once(server, 'listening');
      servers.push(server);
      const address = server.address();
      const actual = typeof address === 'object' && address !== null ? address.port : port;
      urls.push(`http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${actual}`);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { urls, stop };
}

function parseListenUrl(text: string): { readonly hostname: string; readonly port: number } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.port === '' || url.pathname !== '/') {
    throw new UserError(
      `--listen-client-urls takes URLs such as http://127.0.0.1:2379, not '${text}'`,
    );
  }
  if (url.protocol !== 'http:')
    throw new UserError(
      `--listen-client-urls: the stub of etcd has no TLS, and '${text}' asks for it`,
    );
  return { hostname: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) };
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
