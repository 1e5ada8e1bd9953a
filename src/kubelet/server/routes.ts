// What the kubelet's server answers.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { isStreamingUpgrade, servePortForward, serveRemoteCommand } from '../../machinery/remotecommand/index.ts';
import type { StreamOptions } from '../../machinery/remotecommand/index.ts';
import { readLogs, type LogOptions } from '../logs/read-logs.ts';
import { findContainer, type ContainerRecord } from '../runtime/pod-status.ts';
import { podUid, type Pod } from '../types.ts';
import { LocalVolumeError } from '../volumes/local-volumes.ts';
import { findLogContainer, LogTargetError, parseLogOptions } from './container-logs.ts';
import type { KubeletServerConfig } from './server.ts';
import { statsSummary } from './stats.ts';

/** A request that cannot be answered as asked. */
class HttpError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const MAX_RUN_OUTPUT_BYTES = 16 * 1024 * 1024;

export class Routes {
  readonly #config: KubeletServerConfig;

  constructor(config: KubeletServerConfig) {
    this.#config = config;
  }

  /** Never rejects: what goes wrong is the answer. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#route(request, response);
    } catch (err) {
      const code = err instanceof HttpError ? err.code : 500;
      if (response.headersSent) {
        // Too late to say so: the connection breaks off, so that nobody takes what came for all there was.
        response.destroy(err instanceof Error ? err : undefined);
        return;
      }
      response
        .writeHead(code, { 'Content-Type': 'text/plain; charset=utf-8' })
        .end(`${err instanceof Error ? err.message : String(err)}\n`);
    }
  }

  async handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    try {
      await this.#routeUpgrade(request, socket, head);
    } catch (err) {
      const code = err instanceof HttpError ? err.code : 500;
      const message = `${err instanceof Error ? err.message : String(err)}\n`;
      socket.end(
        `HTTP/1.1 ${code} ${code === 404 ? 'Not Found' : code === 400 ? 'Bad Request' : 'Internal Server Error'}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(message)}\r\n\r\n${message}`,
      );
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, query } = parseUrl(request);
    const method = request.method ?? 'GET';
    const [, first, ...rest] = path;
    switch (first) {
      case 'healthz':
        text(response, 'ok');
        return;
      case 'pods':
        json(response, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: this.#config.pods() });
        return;
      case 'stats':
        if (rest[0] !== 'summary') break;
        json(response, await statsSummary(this.#config));
        return;
      case 'containerLogs': {
        const [namespace = '', name = '', container = ''] = rest;
        await this.#logs(request, response, namespace, name, container, parseLogOptions(query, this.#config.clock.now()));
        return;
      }
      case 'run':
        if (method !== 'POST') throw new HttpError(405, 'Method Not Allowed');
        await this.#run(response, rest, query);
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
    if (!isStreamingUpgrade(request)) throw new HttpError(400, 'unable to upgrade: unsupported protocol');
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
          async (streams, signal) => await runtime.runtime.exec(record.id, { ...options, command }, streams, signal),
          streaming,
        );
        return;
      }
      case 'attach': {
        const { pod, record } = this.#runningContainer(rest);
        const spec = [...pod.spec.containers, ...(pod.spec.initContainers ?? []), ...(pod.spec.ephemeralContainers ?? [])].find(
          (container) => container.name === record.name,
        );
        // Whether there is a terminal was decided when the container was made.
        const options = { ...streamOptions(query), tty: spec?.tty === true };
        await serveRemoteCommand(
          request,
          socket,
          head,
          options.tty ? { ...options, stderr: false } : options,
          async (streams, signal) => await runtime.runtime.attach(record.id, options, streams, signal),
          streaming,
        );
        return;
      }
      case 'portForward': {
        const [namespace = '', name = '', uid] = rest;
        const pod = this.#pod(namespace, name, uid);
        const sandbox = this.#config.runtimeStatus(podUid(pod))?.sandboxes.find((candidate) => candidate.ready);
        if (sandbox === undefined) throw new HttpError(404, `pod not found ("${name}_${namespace}")`);
        await servePortForward(
          request,
          socket,
          head,
          async (port, stream, signal) => await runtime.runtime.portForward(sandbox.id, port, stream, signal),
          streaming,
        );
        return;
      }
      default:
        throw new HttpError(404, '404 page not found');
    }
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
      record = findLogContainer(pod, this.#config.runtimeStatus(podUid(pod)), container, options.previous);
    } catch (err) {
      // The API server hands a 400 with its words on to the user.
      throw err instanceof LogTargetError ? new HttpError(400, err.message) : err;
    }
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the client is gone')));
    const uid = podUid(pod);
    const source = {
      path: record.logPath,
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
    } catch (err) {
      // A container that has written nothing may have no file.
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
    }
    response.end();
    void request;
  }

  #isRunning(uid: string, containerId: string): boolean {
    const status = this.#config.runtimeStatus(uid);
    return status?.containers.some((container) => container.id === containerId && container.state === 'running') === true;
  }

  async #removeLocalVolume(response: ServerResponse, name: string): Promise<void> {
    try {
      await this.#config.removeLocalVolume(name);
    } catch (err) {
      throw err instanceof LocalVolumeError ? new HttpError(409, err.message) : err;
    }
    text(response, 'ok');
  }

  async #run(response: ServerResponse, rest: readonly string[], query: URLSearchParams): Promise<void> {
    const { record } = this.#runningContainer(rest);
    const command = query.get('cmd') ?? '';
    if (command === '') throw new HttpError(400, 'Bad request: no command is given');
    const result = await this.#config.runtime.runtime.execSync(record.id, command.split(' '));
    const output = Buffer.concat([result.stdout, result.stderr]).subarray(0, MAX_RUN_OUTPUT_BYTES);
    response.writeHead(200, { 'Content-Type': 'text/plain' }).end(output);
  }

  /** namespace/pod/container, or namespace/pod/uid/container. */
  #runningContainer(rest: readonly string[]): { readonly pod: Pod; readonly record: ContainerRecord } {
    const [namespace = '', name = ''] = rest;
    const container = rest.at(-1) ?? '';
    const pod = this.#pod(namespace, name, rest.length > 3 ? rest[2] : undefined);
    const status = this.#config.runtimeStatus(podUid(pod));
    const record = status === undefined ? undefined : findContainer(status, container);
    if (record?.state !== 'running') throw new HttpError(404, `container not found ("${container}")`);
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

function parseUrl(request: IncomingMessage): { readonly path: readonly string[]; readonly query: URLSearchParams } {
  const url = new URL(request.url ?? '/', 'http://kubelet');
  return { path: url.pathname.split('/').map(decodeURIComponent), query: url.searchParams };
}

function streamOptions(query: URLSearchParams): StreamOptions {
  const flag = (name: string): boolean => query.get(name) === '1' || query.get(name) === 'true';
  const tty = flag('tty');
  return { stdin: flag('input'), stdout: flag('output'), stderr: flag('error') && !tty, tty };
}

function text(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' }).end(body);
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
