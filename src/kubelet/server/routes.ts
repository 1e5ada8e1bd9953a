// The routes of the kubelet's API.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  isStreamingUpgrade,
  servePortForward,
  serveRemoteCommand,
  type StreamOptions,
} from '#machinery/streams/remotecommand/index.ts';
import { readLogs, type LogOptions } from '../logs/read-logs.ts';
import { serveSystemLogs } from '../logs/system-logs.ts';
import { findContainer, type ContainerRecord } from '../pod/pod-status.ts';
import { podUid, type Pod } from '../types.ts';
import { LocalVolumeError } from '../volumes/local-volumes.ts';
import { formatYamlLazily } from '#api/machinery/codec/format-yaml-lazily.ts';
import { StatusError } from '#machinery/apierrors.ts';
import { componentMetricsText, withStability } from '#machinery/metrics/component-metrics.ts';
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
import { findLogContainer, LogTargetError, parseLogOptions } from './container-logs.ts';
import type { KubeletServerConfig } from './config.ts';
import { resourceMetrics } from '../metrics/resource-metrics.ts';
import { cadvisorMetrics } from '../metrics/cadvisor-metrics.ts';
import { statsSummary } from './stats.ts';
import type { Extent } from '../volume-stats/pod-files-reader.ts';
import type { PodFiles } from '../volume-stats/types.ts';
import { volumeMetrics } from '../volume-stats/volume-metrics.ts';
import type { Usage } from '../node/usage.ts';

/** A request that fails with a code and a message. */
class HttpError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

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
      await this.#routeUpgrade(request, socket, head);
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
        const { nodeName, startedAt, details } = this.#config;
        const usage = await this.#config.usage();
        json(
          response,
          statsSummary({
            usage,
            nodeName,
            startedAt,
            details: onlyCpuAndMemory ? undefined : await details.read(),
            files: onlyCpuAndMemory ? undefined : await this.#files('all'),
            systemContainers: this.#config.systemContainers?.read() ?? [],
          }),
        );
        return;
      }
      case 'metrics':
        prometheus(response, await this.#metrics(rest.join('/')));
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
        const [namespace = '', name = '', container = ''] = rest;
        await this.#logs(
          request,
          response,
          namespace,
          name,
          container,
          parseLogOptions(query, this.#config.clock.now()),
        );
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

  async #routeUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { path, query } = parseUrl(request);
    const [, first, ...rest] = path;
    if (!isStreamingUpgrade(request))
      throw new HttpError(400, 'unable to upgrade: unsupported protocol');
    const { runtime, clock, logger } = this.#config;
    const streaming = { clock, logger };
    switch (first) {
      case 'exec': {
        const { record } = this.#runningContainer(rest);
        const options = streamOptions(query);
        const command = query.getAll('command');
        if (command.length === 0) throw new HttpError(400, 'you must specify at least 1 command');
        await serveRemoteCommand(
          request,
          socket,
          head,
          options,
          async (streams, signal) =>
            await runtime.runtime.exec(record.id, { ...options, command }, streams, signal),
          streaming,
        );
        return;
      }
      case 'attach': {
        const { pod, record } = this.#runningContainer(rest);
        const spec = [
          ...pod.spec.containers,
          ...(pod.spec.initContainers ?? []),
          ...(pod.spec.ephemeralContainers ?? []),
        ].find((container) => container.name === record.name);
        // Whether there is a terminal was decided when the container was created.
        const options = { ...streamOptions(query), tty: spec?.tty === true };
        await serveRemoteCommand(
          request,
          socket,
          head,
          options.tty ? { ...options, stderr: false } : options,
          async (streams, signal) =>
            await runtime.runtime.attach(record.id, options, streams, signal),
          streaming,
        );
        return;
      }
      case 'portForward': {
        const [namespace = '', name = '', uid] = rest;
        const pod = this.#pod(namespace, name, uid);
        const sandbox = this.#config
          .runtimeStatus(podUid(pod))
          ?.sandboxes.find((candidate) => candidate.ready);
        if (sandbox === undefined)
          throw new HttpError(404, `pod not found ("${name}_${namespace}")`);
        await servePortForward(
          request,
          socket,
          head,
          async (port, stream, signal) =>
            await runtime.runtime.portForward(sandbox.id, port, stream, signal),
          streaming,
        );
        return;
      }
      default:
        throw new HttpError(404, '404 page not found');
    }
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

  async #logs(
    request: IncomingMessage,
    response: ServerResponse,
    namespace: string,
    name: string,
    container: string,
    options: LogOptions & { readonly previous: boolean },
  ): Promise<void> {
    const pod = this.#pod(namespace, name);
    let record: ContainerRecord;
    try {
      record = findLogContainer(
        pod,
        this.#config.runtimeStatus(podUid(pod)),
        container,
        options.previous,
      );
    } catch (error) {
      // The API server forwards the message of a 400 to the user.
      throw error instanceof LogTargetError ? new HttpError(400, error.message) : error;
    }
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the client is gone')));
    const uid = podUid(pod);
    const source = {
      path: record.logPath,
      log: this.#config.runtime.runtime.memoryLog?.(record.id),
      clock: this.#config.clock,
      isRunning: () => Promise.resolve(this.#isRunning(uid, record.id)),
    };
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' });
    if (options.follow === true) response.flushHeaders();
    try {
      for await (const chunk of readLogs(source, options, gone.signal)) {
        if (gone.signal.aborted) return;
        if (!response.write(chunk)) await drained(response, gone.signal);
      }
    } catch (error) {
      // A container without output may have no file.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    response.end();
    void request;
  }

  async #metrics(name: string): Promise<string> {
    switch (name) {
      case '':
        return componentMetricsText(
          this.#config.metrics.text(this.#config.gauges) +
            (this.#config.otherMetrics?.() ?? '') +
            volumeMetrics((await this.#files('claims'))?.values() ?? []),
          this.#config.version,
        );
      case 'resource':
        return withStability(resourceMetrics(await this.#usage()));
      case 'cadvisor':
        return this.#cadvisor();
      case 'probes':
        return withStability(this.#config.probeMetrics());
      case 'slis':
        return sliText(this.#slis, [this.#health]);
      default:
        throw new HttpError(404, '404 page not found');
    }
  }

  async #files(extent: Extent): Promise<ReadonlyMap<string, PodFiles> | undefined> {
    return await this.#config.files?.read(this.#config.pods(), extent);
  }

  async #cadvisor(): Promise<string> {
    const { cgroups: reader, pods, machine, clock } = this.#config;
    const usage = await this.#usage();
    const ids = (usage?.pods ?? []).flatMap(({ sandboxId, containers }) => [
      sandboxId,
      ...containers.map(({ id }) => id),
    ]);
    const cgroups = await reader?.read(ids);
    return cadvisorMetrics({
      usage,
      pods: pods(),
      ...(cgroups !== undefined && { cgroups, deviceNames: reader?.deviceNames() }),
      podUid,
      machine: machine(),
      now: clock.now(),
    });
  }

  /**
   * Returns undefined if the runtime does not respond: a metric reports this, and other metrics are
   * still served.
   */
  async #usage(): Promise<Usage | undefined> {
    try {
      return await this.#config.usage();
    } catch (error) {
      this.#config.logger.warn('kubelet: usage of pods not read', { err: error });
      return undefined;
    }
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

  #isRunning(uid: string, containerId: string): boolean {
    const status = this.#config.runtimeStatus(uid);
    return (
      status?.containers.some(
        (container) => container.id === containerId && container.state === 'running',
      ) === true
    );
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
    const { record } = this.#runningContainer(rest);
    const command = query.get('cmd') ?? '';
    if (command === '') throw new HttpError(400, 'Bad request: no command is given');
    const result = await this.#config.runtime.runtime.execSync(record.id, command.split(' '));
    const output = Buffer.concat([result.stdout, result.stderr]).subarray(0, MAX_RUN_OUTPUT_BYTES);
    response.writeHead(200, { 'Content-Type': 'text/plain' }).end(output);
  }

  /** namespace/pod/container, or namespace/pod/uid/container. */
  #runningContainer(rest: readonly string[]): {
    readonly pod: Pod;
    readonly record: ContainerRecord;
  } {
    const [namespace = '', name = ''] = rest;
    const container = rest.at(-1) ?? '';
    const pod = this.#pod(namespace, name, rest.length > 3 ? rest[2] : undefined);
    const status = this.#config.runtimeStatus(podUid(pod));
    const record = status === undefined ? undefined : findContainer(status, container);
    if (record?.state !== 'running')
      throw new HttpError(404, `container not found ("${container}")`);
    return { pod, record };
  }

  #pod(namespace: string, name: string, uid?: string): Pod {
    const pod = this.#config
      .pods()
      .find(
        (candidate) =>
          candidate.metadata.name === name &&
          candidate.metadata.namespace === namespace &&
          (uid === undefined || podUid(candidate) === uid),
      );
    if (pod === undefined) throw new HttpError(404, `pod "${name}" cannot be found`);
    return pod;
  }
}

function parseUrl(request: IncomingMessage): {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
} {
  try {
    const url = new URL(request.url ?? '/', 'http://kubelet');
    return { path: url.pathname.split('/').map(decodeURIComponent), query: url.searchParams };
  } catch (error) {
    throw new HttpError(400, `Bad Request: ${errorMessage(error)}`);
  }
}

/** Returns the decoded path, for routing and authorization. Throws if it cannot be decoded. */
export function pathOf(request: IncomingMessage): string {
  return parseUrl(request).path.join('/');
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

function streamOptions(query: URLSearchParams): StreamOptions {
  const flag = (name: string): boolean => query.get(name) === '1' || query.get(name) === 'true';
  const tty = flag('tty');
  return { stdin: flag('input'), stdout: flag('output'), stderr: flag('error') && !tty, tty };
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

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.removeListener('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
