// The port of the controller manager and of the scheduler: health, metrics, statusz and flagz.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import {
  type HealthCheck,
  HealthEndpoint,
  sliText,
  TEXT,
  type TextResponse,
} from '#machinery/serving/health.ts';
import { HealthSlis } from '#machinery/serving/health-slis.ts';
import { formatYamlLazily } from '#api/machinery/codec/format-yaml-lazily.ts';
import { peerCertificateOf, type Trust, trustIn } from '#apiserver/http/peer-certificate.ts';
import { PROMETHEUS_TEXT } from '#apiserver/metrics.ts';
import type { PeerAuthorities, PeerCertificate } from '#apiserver/request.ts';
import type { VersionInfo } from '#machinery/version-info.ts';
import { flagz, statusz } from '#machinery/serving/zpages.ts';
import { StatusError } from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { TLS_SERVER_OPTIONS } from '#machinery/serving/index.ts';
import type { KeyPair } from '../credentials/pki.ts';
import { UserError } from '../user-error.ts';

export interface ComponentServerConfig {
  /** 'kube-scheduler'. */
  readonly component: string;
  readonly version: VersionInfo;
  readonly clock: Clock;
  readonly bindAddress: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tls: KeyPair;
  /** Requests that fail are logged here. */
  readonly logger?: Logger;
  /** The checks of each health endpoint, by its path. */
  readonly health: Readonly<Record<string, () => readonly HealthCheck[]>>;
  /** Flags by name, without dashes. Absent: there is no /flagz. */
  readonly flags?: Readonly<Record<string, string>>;
  /** By path, in the form that Prometheus reads. */
  readonly metrics: Readonly<Record<string, () => string | Promise<string>>>;
  /**
   * Resolves if a request for the path may be served; rejects with StatusError if not. Not called for
   * the health endpoints themselves, which are public.
   */
  checkAccess(credentials: Credentials, path: string): Promise<void>;
}

/** The proofs of a request's sender. */
export interface Credentials {
  /** The header of that name. */
  readonly authorization?: string;
  /** A certificate that an authority of peers has signed, and that has not expired. */
  readonly certificate?: PeerCertificate;
  /** Names and values of all headers in turn, in which a front proxy names a user. */
  readonly rawHeaders: readonly string[];
}

export interface ComponentServer {
  readonly port: number;
  /**
   * Uses another certificate for new connections. Throws if the key is not its key; the certificate
   * in use then stays.
   */
  setCertificate(pair: KeyPair): void;
  /**
   * Accepts certificates of these authorities of clients and front proxies on new connections.
   * Until then no peer is known by a certificate. Throws if an authority has no certificate.
   */
  setAuthorities(authorities: PeerAuthorities): void;
  close(): Promise<void>;
}

/** Upstream's ReadHeaderTimeout and IdleTimeout. */
const HEADER_TIMEOUT_MS = 32_000;
const IDLE_TIMEOUT_MS = 90_000;
/** The server of /metrics and health checks, for monitoring systems and probes. */
const MAX_CONNECTIONS = 500;

const PUBLIC = new Set(['/healthz', '/livez', '/readyz']);
const NOT_FOUND: TextResponse = { code: 404, contentType: TEXT, text: '404 page not found\n' };

interface Served {
  readonly config: ComponentServerConfig;
  readonly health: readonly HealthEndpoint[];
  readonly slis: HealthSlis;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** Rejects with UserError if the port cannot be had. */
export async function startComponentServer(
  config: ComponentServerConfig,
): Promise<ComponentServer> {
  const { bindAddress, port, tls, logger, clock } = config;
  const slis = new HealthSlis();
  const health = Object.entries(config.health).map(
    ([path, checks]) => new HealthEndpoint({ path, checks, logger, slis }),
  );
  const served: Served = { config, health, slis, startedAt: clock.now() };
  let pair = tls;
  let authorities: readonly string[] = [];
  let trust: Trust | undefined;
  const secureContext = (): SecureContextOptions => ({
    cert: pair.cert,
    key: pair.key,
    // Without an authority of clients, Node.js' own list of authorities must not take its place.
    ca: [...authorities],
    ...TLS_SERVER_OPTIONS,
  });
  const server = createServer(
    // A client without a valid certificate may have a token.
    {
      ...secureContext(),
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: HEADER_TIMEOUT_MS,
    },
    (request, response) => {
      const credentials = credentialsOf(request, trust, clock);
      answer(served, credentials, request, response).catch((error: unknown) => {
        if (error instanceof StatusError) {
          send(response, {
            code: error.code,
            contentType: 'application/json',
            text: `${JSON.stringify(error.status)}\n`,
          });
          return;
        }
        logger?.warn('component server: request failed', { path: request.url, err: error });
        if (response.headersSent) response.destroy();
        else send(response, { code: 500, contentType: TEXT, text: 'Internal Server Error\n' });
      });
    },
  );
  server.headersTimeout = HEADER_TIMEOUT_MS;
  server.keepAliveTimeout = IDLE_TIMEOUT_MS;
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, bindAddress, resolve);
  }).catch((error: unknown) => {
    const hint = 'See --secure-port and --bind-address.';
    throw new UserError(
      `cannot listen on ${bindAddress}, port ${port}: ${(error as Error).message}. ${hint}`,
      {
        cause: error,
      },
    );
  });
  return {
    port: (server.address() as AddressInfo).port,
    setCertificate(next) {
      const before = pair;
      try {
        pair = next;
        server.setSecureContext(secureContext());
      } catch (error) {
        pair = before;
        throw error;
      }
    },
    setAuthorities(next) {
      const { clientCa, requestHeaderCa } = next;
      const trusted = trustIn(next);
      if (clientCa !== undefined && trusted.client.certificates.length === 0)
        throw new Error('the authority of client certificates has no certificate');
      if (trusted.frontProxy?.certificates.length === 0)
        throw new Error('the authority of front proxies has no certificate');
      authorities = [clientCa, requestHeaderCa].filter((ca) => ca !== undefined);
      trust = trusted;
      server.setSecureContext(secureContext());
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function credentialsOf(
  request: IncomingMessage,
  trust: Trust | undefined,
  clock: Clock,
): Credentials {
  const { authorization } = request.headers;
  const certificate =
    trust === undefined ? undefined : peerCertificateOf(request.socket as TLSSocket, trust);
  // A certificate that has expired since the handshake does not count.
  const isValid = certificate !== undefined && clock.now() <= certificate.notAfter;
  return {
    ...(authorization !== undefined && { authorization }),
    ...(isValid && { certificate }),
    rawHeaders: request.rawHeaders,
  };
}

async function answer(
  served: Served,
  credentials: Credentials,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const target = new URL(request.url ?? '/', 'https://component');
  const path = target.pathname;
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return send(response, { code: 405, contentType: TEXT, text: 'method not allowed\n' });
  }
  // Health is public, the reasons for failures are not.
  if (!PUBLIC.has(path)) await served.config.checkAccess(credentials, path);
  send(
    response,
    (await respond(served, path, target.searchParams, request.headers.accept)) ?? NOT_FOUND,
  );
}

/** Undefined: nothing is served at the path. */
async function respond(
  { config, health, slis, startedAt }: Served,
  path: string,
  query: URLSearchParams,
  accept: string | undefined,
): Promise<TextResponse | undefined> {
  const endpoint = health.find((candidate) => candidate.handles(path));
  if (endpoint !== undefined) return endpoint.respond(path, query);
  const { component, version, clock, flags, metrics } = config;
  const zpage = { headers: { accept }, query, formatYaml: formatYamlLazily };
  switch (path) {
    case '/metrics/slis':
      return { code: 200, contentType: PROMETHEUS_TEXT, text: await sliText(slis, health) };
    case '/statusz':
      return statusz(zpage, { component, version, clock, startedAt, paths: () => pathsOf(config) });
    case '/flagz':
      return flags && flagz(zpage, component, flags);
    default: {
      const text = metrics[path];
      return text && { code: 200, contentType: PROMETHEUS_TEXT, text: await text() };
    }
  }
}

function pathsOf({ health, metrics, flags }: ComponentServerConfig): readonly string[] {
  const own = ['/metrics/slis', '/statusz', ...(flags === undefined ? [] : ['/flagz'])];
  return [...Object.keys(health), ...Object.keys(metrics), ...own];
}

function send(response: ServerResponse, { code, contentType, text, headers }: TextResponse): void {
  response.writeHead(code, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}
