// A gRPC client for a server at a unix socket: calls by service and method name, with deadlines and
// AbortSignals. It connects when it is first used, and again after the server was unavailable.

import { setMaxListeners } from 'node:events';
import {
  Client,
  connectivityState,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Clock } from '../clock.ts';
import { errorMessage } from '../error-message.ts';
import { RpcError, rpcCodes } from './rpc-error.ts';
import {
  definitionOf,
  type Input,
  type Message,
  type MethodName,
  type RequestName,
  type ResponseName,
  type Schema,
  type ServiceName,
  withoutNulls,
} from './schema.ts';

type WireMethod = MethodDefinition<object, object>;

export interface RpcOptions {
  readonly signal?: AbortSignal;
  /** The call rejects with DEADLINE_EXCEEDED after this time. Default: two minutes. */
  readonly timeoutMs?: number;
  /** Waits for a server that is not there yet. Default: the call rejects with UNAVAILABLE. */
  readonly waitForReady?: boolean;
}

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_MESSAGE = 16 * 1024 * 1024;

export class RpcConnection<S extends Schema> {
  readonly #schema: S;
  readonly #client: Client;
  readonly #clock: Clock;

  /** `endpoint`: unix:///path, a path, or the name of an abstract socket (see socketAddress). */
  constructor(schema: S, endpoint: string, clock: Clock) {
    this.#schema = schema;
    this.#clock = clock;
    this.#client = new Client(
      `unix:${socketAddress(socketPath(endpoint))}`,
      credentials.createInsecure(),
      {
        'grpc.max_receive_message_length': MAX_MESSAGE,
        'grpc.max_send_message_length': MAX_MESSAGE,
        'grpc.default_authority': 'localhost',
        'grpc.enable_retries': 0,
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': 2_000,
      },
    );
  }

  /** Calls a method. Rejects with an RpcError, or the signal's reason. */
  async call<V extends ServiceName<S>, M extends MethodName<S, V>>(
    service: V,
    name: M,
    request: Input<S, RequestName<S, V, M>>,
    options: RpcOptions = {},
  ): Promise<Message<S, ResponseName<S, V, M>>> {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS, waitForReady = false } = options;
    signal?.throwIfAborted();
    if (signal !== undefined) setMaxListeners(0, signal);
    const method = this.#method(service, name);
    const response = await new Promise<object>((resolve, reject) => {
      let late = false;
      const call = this.#client.makeUnaryRequest<object, object>(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        new Metadata({ waitForReady }),
        (error, message) => {
          timer.cancel();
          signal?.removeEventListener('abort', abort);
          if (error === null) resolve(message ?? {});
          else if (signal?.aborted === true) reject(signal.reason as Error);
          else reject(late ? deadlineExceeded(error) : fromServiceError(error));
        },
      );
      const abort = (): void => call.cancel();
      const timer = this.#clock.setTimer(timeoutMs, () => {
        late = true;
        call.cancel();
      });
      signal?.addEventListener('abort', abort, { once: true });
    });
    return withoutNulls(response) as Message<S, ResponseName<S, V, M>>;
  }

  /**
   * Yields the responses of a streaming method until the signal aborts (iteration then completes)
   * or the server ends the stream. Throws an RpcError.
   */
  async *stream<V extends ServiceName<S>, M extends MethodName<S, V>>(
    service: V,
    name: M,
    request: Input<S, RequestName<S, V, M>>,
    signal: AbortSignal,
  ): AsyncGenerator<Message<S, ResponseName<S, V, M>>, void> {
    if (signal.aborted) return;
    const method = this.#method(service, name);
    const call = this.#client.makeServerStreamRequest<object, object>(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      new Metadata(),
    );
    const abort = (): void => call.cancel();
    signal.addEventListener('abort', abort, { once: true });
    try {
      for await (const message of call)
        yield withoutNulls(message) as Message<S, ResponseName<S, V, M>>;
    } catch (error) {
      if (!signal.aborted) throw fromServiceError(error);
    } finally {
      signal.removeEventListener('abort', abort);
      call.cancel();
    }
  }

  /** Connects, and resolves once the server accepts calls. Rejects with the signal's reason. */
  connected(signal: AbortSignal): Promise<void> {
    return this.#reaches((state) => state === connectivityState.READY, signal);
  }

  /** Resolves once the connection is lost. Rejects with the signal's reason. */
  disconnected(signal: AbortSignal): Promise<void> {
    return this.#reaches((state) => state !== connectivityState.READY, signal);
  }

  close(): void {
    this.#client.close();
  }

  #reaches(isReached: (state: connectivityState) => boolean, signal: AbortSignal): Promise<void> {
    const channel = this.#client.getChannel();
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error);
      const check = (): void => {
        if (signal.aborted) return;
        const state = channel.getConnectivityState(true);
        if (isReached(state) || state === connectivityState.SHUTDOWN) {
          signal.removeEventListener('abort', abort);
          if (isReached(state)) resolve();
          else reject(new RpcError('CANCELLED', 'the connection was closed'));
        } else channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, check);
      };
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      else check();
    });
  }

  #method(service: string, name: string): WireMethod {
    const methods = definitionOf(this.#schema)[`${this.#schema.package}.${service}`];
    return (methods as unknown as Record<string, WireMethod>)[name]!;
  }
}

/** Returns the path of a socket: endpoints may begin with the scheme unix. */
export function socketPath(endpoint: string): string {
  return endpoint.replace(/^unix:(\/\/)?/, '');
}

/**
 * Whether other programs find the abstract sockets of this Node, and it theirs: Node 20 fills names
 * up with zeros, which are part of the name.
 */
export const HAS_ABSTRACT_SOCKETS = Number(process.versions.node.split('.', 1)[0]) >= 22;

/**
 * Returns the address of a socket as Node takes it. A path that begins with `@` is the name of an
 * abstract socket, as in Go: Linux keeps it without a file, for every user of the network namespace.
 * Throws an Error for those without HAS_ABSTRACT_SOCKETS.
 */
export function socketAddress(path: string): string {
  if (!path.startsWith('@')) return path;
  if (!HAS_ABSTRACT_SOCKETS) throw new Error(`${path}: abstract sockets need Node 22 or later`);
  return `\0${path.slice(1)}`;
}

function deadlineExceeded(cause: Error): RpcError {
  return new RpcError('DEADLINE_EXCEEDED', 'context deadline exceeded', { cause });
}

function fromServiceError(error: unknown): RpcError {
  const { code, details } = error as Partial<ServiceError>;
  return new RpcError(rpcCodes[code ?? 2] ?? 'UNKNOWN', details ?? errorMessage(error), {
    cause: error,
  });
}
