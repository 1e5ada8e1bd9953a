// The link of the main process to a worker: HTTP/2 without encryption over a socket pair, which has
// no path in the file system. It carries what only the main process has: the settings with their
// keys, connections to nodes, the health of components, the audit log, and requests for the console.

import { createServer, type ServerHttp2Stream } from 'node:http2';
import { type Duplex, pipeline } from 'node:stream';
import type { AuditSink } from '#apiserver/audit/index.ts';
import type { ComponentHealth } from '#apiserver/kinds/core/component-status.ts';
import type { NodeConnector, NodeTarget } from '#apiserver/node-connector.ts';
import type { UserInfo } from '#apiserver/request.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { serveAuditStream } from './audit-stream.ts';
import type { WorkerSettings } from './settings.ts';

export const SETTINGS_PATH = '/settings';
export const NODE_PATH = '/node';
export const REQUESTS_PATH = '/requests';
export const HEALTH_PATH = '/health/';
export const AUDIT_PATH = '/audit';
/** The header with the value that a path needs, as JSON in base64. */
export const VALUE_HEADER = 'x-value';
/** The header of a failure: the name of the error. Its message is the body. */
export const ERROR_HEADER = 'x-error';

/** The origin of requests that a worker passes on. */
export interface RequestOrigin {
  readonly remoteAddress: string;
  /** The user of the connection's certificate. Absent: requests are authenticated by headers. */
  readonly user?: UserInfo;
}

export interface LinkServices {
  settings(): WorkerSettings;
  readonly nodeConnector: NodeConnector | undefined;
  readonly componentHealth: ComponentHealth | undefined;
  /** Returns a connection to the main process' API server. */
  openRequests(origin: RequestOrigin): Duplex;
  /** Writes events of the worker to the audit log. Absent: there is none. */
  readonly audit: AuditSink['process'] | undefined;
}

export interface ServeLinkConfig {
  readonly stream: Duplex;
  readonly services: LinkServices;
  readonly logger: Logger;
}

/** Many connections to nodes may be open at once. */
const MAX_STREAMS = 10_000;

export const encodeValue = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64');
const decodeValue = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64').toString());

/** Serves the link until the stream ends. */
export function serveLink({ stream, services, logger }: ServeLinkConfig): void {
  const server = createServer({
    settings: { maxConcurrentStreams: MAX_STREAMS },
    peerMaxConcurrentStreams: MAX_STREAMS,
  });
  server.on('sessionError', (error) => logger.debug('worker link: failed', { err: error }));
  server.on('stream', (request, headers) => {
    request.on('error', (error) => logger.debug('worker link: stream failed', { err: error }));
    const value = headers[VALUE_HEADER];
    serve(
      request,
      String(headers[':path']),
      typeof value === 'string' ? decodeValue(value) : undefined,
      services,
    ).catch((error: unknown) => fail(request, error));
  });
  stream.on('error', (error) => logger.debug('worker link: failed', { err: error }));
  server.emit('connection', stream);
}

async function serve(
  request: ServerHttp2Stream,
  path: string,
  value: unknown,
  services: LinkServices,
): Promise<void> {
  if (path === SETTINGS_PATH) {
    request.respond({ ':status': 200 });
    request.end(JSON.stringify(services.settings()));
  } else if (path === NODE_PATH) {
    const gone = new AbortController();
    request.once('close', () => gone.abort(new Error('the worker closed the connection')));
    const { nodeConnector } = services;
    if (nodeConnector === undefined) throw new Error('there is no way to reach nodes');
    join(request, await nodeConnector.connect(value as NodeTarget, gone.signal));
  } else if (path === REQUESTS_PATH) {
    join(request, services.openRequests(value as RequestOrigin));
  } else if (path === AUDIT_PATH) {
    if (services.audit === undefined) throw new Error('there is no audit log');
    request.respond({ ':status': 200 });
    serveAuditStream(request, services.audit);
  } else if (path.startsWith(HEALTH_PATH)) {
    const health: Readonly<Record<string, (() => Promise<void>) | undefined>> = {
      ...services.componentHealth,
    };
    const check = health[path.slice(HEALTH_PATH.length)];
    if (check === undefined) throw new Error('an unknown component');
    await check();
    request.respond({ ':status': 200 }, { endStream: true });
  } else throw new Error(`an unknown path ${path}`);
}

function join(request: ServerHttp2Stream, connection: Duplex): void {
  if (request.destroyed) {
    connection.destroy();
    return;
  }
  request.respond({ ':status': 200 });
  // An error of either ends both.
  pipeline(request, connection, request, () => connection.destroy());
}

function fail(request: ServerHttp2Stream, error: unknown): void {
  if (request.destroyed) return;
  if (request.headersSent) {
    request.close();
    return;
  }
  request.respond({
    ':status': 502,
    [ERROR_HEADER]: error instanceof Error ? error.name : 'Error',
  });
  request.end(errorMessage(error));
}
