// Small HTTP servers for probes: GET requests without bodies, and few connections.

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Load balancers and monitoring systems need a few connections each. */
const MAX_CONNECTIONS = 100;
const HEADER_TIMEOUT_MS = 10_000;

export interface ProbeServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a server. Rejects if it cannot listen. `host`: undefined for all addresses. */
export async function serveProbes(
  host: string | undefined,
  port: number,
  listener: RequestListener,
): Promise<ProbeServer> {
  const server = createServer(
    {
      headersTimeout: HEADER_TIMEOUT_MS,
      requestTimeout: HEADER_TIMEOUT_MS,
      keepAliveTimeout: 5000,
    },
    listener,
  );
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.unref();
  return { port: (server.address() as AddressInfo).port, close: () => closed(server) };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
