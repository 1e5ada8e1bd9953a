// The port of a role that is no API server: whether it is well, and what it has counted.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../../machinery/log.ts';
import { TLS_SERVER_OPTIONS } from '../../machinery/serving/index.ts';
import type { KeyPair } from '../pki.ts';
import { UserError } from '../user-error.ts';
import type { Refusal } from './delegated-access.ts';

export interface ComponentServerConfig {
  readonly bindAddress: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tls: KeyPair;
  /** Told what could not be answered. */
  readonly logger?: Logger;
  /** Absent: there is no /metrics. */
  readonly metrics?: {
    /** In the form that Prometheus reads. */
    text(): Promise<string>;
    /** `authorization`: the header. undefined: he may see it. Rejects if that cannot be found out. */
    access(authorization: string | undefined): Promise<Refusal | undefined>;
  };
}

export interface ComponentServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Upstream's ReadHeaderTimeout and IdleTimeout. */
const HEADER_TIMEOUT_MS = 32_000;
const IDLE_TIMEOUT_MS = 90_000;
/** Its clients are a monitoring system and probes. */
const MAX_CONNECTIONS = 500;

const HEALTH = new Set(['/healthz', '/livez', '/readyz']);
const TEXT = 'text/plain; charset=utf-8';
const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

/** Rejects with UserError if the port cannot be had. */
export async function startComponentServer(config: ComponentServerConfig): Promise<ComponentServer> {
  const { bindAddress, port, tls, logger } = config;
  const tlsOptions = { cert: tls.cert, key: tls.key, handshakeTimeout: HEADER_TIMEOUT_MS, ...TLS_SERVER_OPTIONS };
  const server = createServer(tlsOptions, (request, response) => {
    answer(config, request, response).catch((err: unknown) => {
      logger?.warn('a request could not be answered', { path: request.url, err });
      if (response.headersSent) response.destroy();
      else send(response, 500, TEXT, 'Internal Server Error\n');
    });
  });
  server.headersTimeout = HEADER_TIMEOUT_MS;
  server.keepAliveTimeout = IDLE_TIMEOUT_MS;
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, bindAddress, resolve);
  }).catch((err: unknown) => {
    const hint = 'See --secure-port and --bind-address.';
    throw new UserError(`cannot listen on ${bindAddress}, port ${port}: ${(err as Error).message}. ${hint}`, { cause: err });
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

async function answer(config: ComponentServerConfig, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] as string;
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, TEXT, 'method not allowed\n');
  if (HEALTH.has(path)) return send(response, 200, TEXT, 'ok');
  const { metrics } = config;
  if (path !== '/metrics' || metrics === undefined) return send(response, 404, TEXT, '404 page not found\n');
  const refusal = await metrics.access(request.headers.authorization);
  if (refusal !== undefined) return send(response, refusal.code, TEXT, refusal.text);
  send(response, 200, PROMETHEUS_TEXT, await metrics.text());
}

function send(response: ServerResponse, code: number, type: string, text: string): void {
  response.writeHead(code, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}
