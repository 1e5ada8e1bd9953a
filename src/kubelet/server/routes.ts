// The routes of the kubelet's API.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { serveSystemLogs } from '../logs/system-logs.ts';
import { findContainer } from '../pod/pod-status.ts';
import { podUid } from '../types.ts';
import { LocalVolumeError } from '../volumes/local-volumes.ts';
import { formatYamlLazily } from '#api/machinery/codec/format-yaml-lazily.ts';
import { StatusError } from '#machinery/apierrors.ts';
import {
  type HealthCheck,
  HealthEndpoint,
  sliText,
  logCheck,
  pingCheck,
  type TextResponse,
} from '#machinery/serving/health.ts';
import { HealthSlis } from '#machinery/serving/health-slis.ts';
import { flagz, statusz } from '#machinery/serving/zpages.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { checkpoint } from './checkpoint.ts';
import type { KubeletServerConfig } from './config.ts';
import { parseLogOptions } from './container-logs.ts';
import { runningContainer } from './find-pod.ts';
import { HttpError, parseUrl } from './http-request.ts';
import { metricsAt } from './metrics.ts';
import { serveLogs } from './serve-logs.ts';
import { serveStream } from './serve-stream.ts';
import { statsSummary } from './stats.ts';

const MAX_RUN_OUTPUT_BYTES = 16 * 1024 * 1024;

/**
 * Upstream's checks. They pass whenever the kubelet responds at all, because pods are synced in the
 * same event loop.
 */
const HEALTH_CHECKS: readonly HealthCheck[] = [
  pingCheck,
  logCheck,
  { name: 'syncloop', check: () => undefined },
];
const COMPONENT = 'kubelet';
const READ_ONLY: ReadonlySet<string> = new Set([
  'healthz',
  'pods',
  'runningpods',
  'stats',
  'metrics',
  'configz',
  'containerLogs',
  'statusz',
  'flagz',
]);
const BUCKETS: ReadonlySet<string> = new Set([
  ...READ_ONLY,
  'run',
  'exec',
  'attach',
  'portForward',
  'logs',
  'debug',
  'checkpoint',
]);
const METRICS: ReadonlySet<string> = new Set(['resource', 'cadvisor', 'probes', 'slis']);
const LONG_RUNNING: ReadonlySet<string> = new Set([
  'exec',
  'attach',
  'portForward',
  'containerLogs',
]);
const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);

export class Routes {
  readonly #slis = new HealthSlis();
  readonly #health: HealthEndpoint;
  readonly #config: KubeletServerConfig;
  readonly #port: () => number;

  /** Creates the routes. `port`: returns the server's port; 0 without one. */
  constructor(config: KubeletServerConfig, port: () => number) {
    this.#config = config;
    this.#port = port;
    const { logger } = config;
    this.#health = new HealthEndpoint({
      path: '/healthz',
      checks: () => HEALTH_CHECKS,
      logger,
      slis: this.#slis,
    });
  }

  /** Serves a request. Never rejects: an error becomes the response. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seconds = this.#config.metrics.timer();
    response.once('close', () => this.#count(request, seconds()));
    try {
      await this.#route(request, response);
    } catch (error) {
      const code = error instanceof HttpError ? error.code : 500;
      if (response.headersSent) {
        // Too late for an error response: the connection is destroyed, so that the client notices
        // that the body is incomplete.
        response.destroy(error instanceof Error ? error : undefined);
        return;
      }
      response
        .writeHead(code, { 'Content-Type': 'text/plain; charset=utf-8' })
        .end(`${errorMessage(error)}\n`);
    }
  }

  async handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const seconds = this.#config.metrics.timer();
    socket.once('close', () => this.#count(request, seconds()));
    try {
      await serveStream(this.#config, request, socket, head);
    } catch (error) {
      const code = error instanceof HttpError ? error.code : 500;
      const message = `${errorMessage(error)}\n`;
      socket.end(
        `HTTP/1.1 ${code} ` +
          (code === 404 ? 'Not Found' : code === 400 ? 'Bad Request' : 'Internal Server Error') +
          '\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: ' +
          `${Buffer.byteLength(message)}\r\n\r\n${message}`,
      );
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, query } = parseUrl(request);
    const method = request.method ?? 'GET';
    const [, first, ...rest] = path;
    if (first !== undefined && READ_ONLY.has(first) && method !== 'GET' && method !== 'HEAD') {
      throw new HttpError(405, '405: Method Not Allowed');
    }
    switch (first) {
      case 'healthz':
        await this.#healthz(response, path.join('/'), query);
        return;
      case 'statusz':
      case 'flagz':
        if (rest.length > 0) break;
        await this.#zpage(request, response, first, query);
        return;
      case 'pods':
        json(response, {
          kind: 'PodList',
          apiVersion: 'v1',
          metadata: {},
          items: this.#config.pods(),
        });
        return;
      case 'runningpods':
        json(response, {
          kind: 'PodList',
          apiVersion: 'v1',
          metadata: {},
          items: this.#config.runningPods(),
        });
        return;
      case 'stats': {
        if (rest.join('/') !== 'summary') break;
        const onlyCpuAndMemory = query.get('only_cpu_and_memory') === 'true';
        const { nodeName, startedAt, details, files } = this.#config;
        const usage = await this.#config.usage();
        json(
          response,
          statsSummary({
            usage,
            nodeName,
            startedAt,
            details: onlyCpuAndMemory ? undefined : await details.read(),
            files: onlyCpuAndMemory ? undefined : await files?.read(this.#config.pods(), 'all'),
            systemContainers: this.#config.systemContainers?.read() ?? [],
          }),
        );
        return;
      }
      case 'metrics':
        prometheus(
          response,
          await metricsAt(this.#config, rest.join('/'), () => sliText(this.#slis, [this.#health])),
        );
        return;
      case 'configz':
        json(response, { kubeletconfig: this.#config.configuration(this.#port()) });
        return;
      case 'logs':
        await this.#systemLogs(request, response);
        return;
      case 'debug':
        if (rest[0] === 'pprof') throw new HttpError(405, 'profiling endpoint is disabled.');
        if (rest[0] === 'flags') throw new HttpError(405, 'flags endpoint is disabled.');
        break;
      case 'containerLogs': {
        const options = parseLogOptions(query, this.#config.clock.now());
        await serveLogs(this.#config, response, rest, options);
        return;
      }
      case 'run':
        if (method !== 'POST') throw new HttpError(405, 'Method Not Allowed');
        await this.#run(response, rest, query);
        return;
      case 'checkpoint':
        if (method !== 'POST') throw new HttpError(405, '405: Method Not Allowed');
        await this.#checkpoint(response, rest, query);
        return;
      case 'localVolumes':
        if (method !== 'DELETE') throw new HttpError(405, 'Method Not Allowed');
        await this.#removeLocalVolume(response, rest.join('/'));
        return;
      case 'exec':
      case 'attach':
      case 'portForward':
        throw new HttpError(400, 'Upgrade request required');
      default:
    }
    throw new HttpError(404, '404 page not found');
  }

  /** Serves files of the machine. */
  async #systemLogs(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { systemLogsDir } = this.#config;
    if (systemLogsDir === undefined) throw new HttpError(405, 'logs endpoint is disabled.');
    const { method, url = '' } = request;
    if (method !== 'GET' && method !== 'HEAD') throw new HttpError(405, '405: Method Not Allowed');
    const path = url.split('?')[0]?.replace(/^\/+logs\/?/, '') ?? '';
    await serveSystemLogs(systemLogsDir, path, method === 'HEAD', response);
  }

  async #healthz(response: ServerResponse, path: string, query: URLSearchParams): Promise<void> {
    const answer = await this.#health.respond(path.replace(/\/$/, ''), query);
    if (answer === undefined) throw new HttpError(404, '404 page not found');
    send(response, answer);
  }

  async #zpage(
    request: IncomingMessage,
    response: ServerResponse,
    page: 'statusz' | 'flagz',
    query: URLSearchParams,
  ): Promise<void> {
    const { version, clock, startedAt, flags } = this.#config;
    const { accept, 'user-agent': agent } = request.headers;
    const zpage = { headers: { accept, 'user-agent': agent }, query, formatYaml: formatYamlLazily };
    const paths = (): readonly string[] =>
      [...BUCKETS]
        .filter((name) => name !== 'flagz' || flags !== undefined)
        .map((name) => `/${name}`);
    if (page === 'flagz' && flags === undefined) throw new HttpError(404, '404 page not found');
    const answer =
      page === 'flagz'
        ? flagz(zpage, COMPONENT, flags ?? {})
        : statusz(zpage, { component: COMPONENT, version, clock, startedAt, paths });
    try {
      send(response, await answer);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      send(response, {
        code: error.code,
        contentType: 'application/json',
        text: `${JSON.stringify(error.status)}\n`,
      });
    }
  }

  async #checkpoint(
    response: ServerResponse,
    [namespace = '', name = '', container = '', ...more]: readonly string[],
    query: URLSearchParams,
  ): Promise<void> {
    if (container === '' || more.length > 0) throw new HttpError(404, '404: Page Not Found');
    const pod = this.#config
      .pods()
      .find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
    if (pod === undefined) throw new HttpError(404, 'pod does not exist');
    const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
    if (
      ![...containers, ...initContainers, ...ephemeralContainers].some(
        (candidate) => candidate.name === container,
      )
    ) {
      throw new HttpError(404, `container ${container} does not exist`);
    }
    const timeout = query.getAll('timeout').at(-1);
    if (timeout !== undefined && !/^[-+]?\d+$/.test(timeout)) {
      throw new HttpError(404, 'cannot parse value of timeout parameter');
    }
    const { runtime, checkpointsDir: directory, runtimeStatus, clock } = this.#config;
    const status = runtimeStatus(podUid(pod));
    const location = await checkpoint({
      runtime: runtime.runtime,
      directory,
      namespace,
      pod: name,
      container,
      containerId: status === undefined ? undefined : findContainer(status, container)?.id,
      timeoutSeconds: Number(timeout ?? 0),
      now: clock.now(),
    }).catch((error: unknown) => {
      throw new HttpError(500, errorMessage(error));
    });
    json(response, { items: [location] });
  }

  #count(request: IncomingMessage, seconds: number): void {
    const method = METHODS.has(request.method ?? '') ? (request.method as string) : 'other';
    const path = bucketOf(request);
    this.#config.metrics.requestServed(method, path, LONG_RUNNING.has(path), seconds);
  }

  async #removeLocalVolume(response: ServerResponse, name: string): Promise<void> {
    try {
      await this.#config.removeLocalVolume(name);
    } catch (error) {
      throw error instanceof LocalVolumeError ? new HttpError(409, error.message) : error;
    }
    text(response, 'ok');
  }

  async #run(
    response: ServerResponse,
    rest: readonly string[],
    query: URLSearchParams,
  ): Promise<void> {
    const { record } = runningContainer(this.#config, rest);
    const command = query.get('cmd') ?? '';
    if (command === '') throw new HttpError(400, 'Bad request: no command is given');
    const result = await this.#config.runtime.runtime.execSync(record.id, command.split(' '));
    const output = Buffer.concat([result.stdout, result.stderr]).subarray(0, MAX_RUN_OUTPUT_BYTES);
    response.writeHead(200, { 'Content-Type': 'text/plain' }).end(output);
  }
}

/**
 * Returns the label `path` of request metrics: the route, so that the number of values is bounded.
 */
function bucketOf(request: IncomingMessage): string {
  try {
    const [, first = '', second = ''] = parseUrl(request).path;
    if (first === 'metrics' && METRICS.has(second)) return `metrics/${second}`;
    return BUCKETS.has(first) ? first : 'other';
  } catch {
    return 'other';
  }
}

function send(
  response: ServerResponse,
  { code, contentType, text: body, headers }: TextResponse,
): void {
  response.writeHead(code, { 'Content-Type': contentType, ...headers }).end(body);
}

function text(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' }).end(body);
}

function prometheus(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body);
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
