// A gRPC connection to a CRI runtime's socket: calls by service and method name, with deadlines and
// AbortSignals.

import { setMaxListeners } from 'node:events';
import {
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type MethodDefinition,
} from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import {
  type CallOptions,
  complete,
  type Input,
  type Message,
  type MessageName,
} from '#cri/index.ts';
import { criDescriptor, criPackage } from '#cri/proto.ts';
import { services } from '#cri/schema.ts';
import type { Clock } from '#machinery/clock.ts';
import { fromGrpc } from './errors.ts';

type Services = typeof services;
export type ServiceName = keyof Services;
type Request<S extends ServiceName, M extends keyof Services[S]> = Services[S][M] extends readonly [
  infer R extends MessageName,
  ...unknown[],
]
  ? Input<R>
  : never;
type ResponseName<
  S extends ServiceName,
  M extends keyof Services[S],
> = Services[S][M] extends readonly [unknown, infer R extends MessageName, ...unknown[]]
  ? R
  : never;

/** The wire format of a method. */
export type CriMethod = MethodDefinition<object, object>;

/** The kubelet's default: long enough for a slow disk, short enough to detect a hanging runtime. */
const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_MESSAGE = 16 * 1024 * 1024;

const definition = fromJSON(criDescriptor(), {
  longs: Number,
  enums: String,
  defaults: true,
  arrays: true,
  objects: true,
});

function methodOf(service: ServiceName, method: string): CriMethod {
  return (definition[`${criPackage}.${service}`] as unknown as Record<string, CriMethod>)[method]!;
}

export class CriConnection {
  readonly #client: Client;
  readonly #clock: Clock;

  /**
   * Creates the connection. `endpoint`: unix:///path, or a path. Connects when first used, and
   * again after the runtime was unavailable.
   */
  constructor(endpoint: string, clock: Clock) {
    const path = endpoint.replace(/^unix:(\/\/)?/, '');
    this.#clock = clock;
    this.#client = new Client(`unix://${path}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': MAX_MESSAGE,
      'grpc.max_send_message_length': MAX_MESSAGE,
      'grpc.default_authority': 'localhost',
      // A restarted runtime is available within moments, so clients should not wait long.
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 2_000,
    });
  }

  /** Calls a CRI method. Rejects with a CriError, or the signal's reason. */
  call<S extends ServiceName, M extends keyof Services[S] & string>(
    service: S,
    name: M,
    request: Request<S, M>,
    options: CallOptions = {},
  ): Promise<Message<ResponseName<S, M>>> {
    const response = (
      services[service][name] as unknown as readonly [string, ResponseName<S, M>]
    )[1];
    return this.#unary(methodOf(service, name), request, new Metadata(), options).then((message) =>
      complete(response, message as Input<ResponseName<S, M>>),
    );
  }

  /** Calls a method outside of CRI on the same socket. `namespace`: of containerd. */
  callOf(
    method: CriMethod,
    request: object,
    namespace: string,
    options: CallOptions = {},
  ): Promise<object> {
    const metadata = new Metadata();
    metadata.set('containerd-namespace', namespace);
    return this.#unary(method, request, metadata, options);
  }

  #unary(
    method: CriMethod,
    request: object,
    metadata: Metadata,
    options: CallOptions,
  ): Promise<object> {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    // Many calls in flight may share one signal: this is not a leak.
    if (signal) setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      const abort = (): void => call.cancel();
      const call = this.#client.makeUnaryRequest<object, object>(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        metadata,
        { deadline: this.#clock.now() + timeoutMs },
        (err, response) => {
          signal?.removeEventListener('abort', abort);
          if (err) reject(signal?.aborted ? (signal.reason as Error) : fromGrpc(err));
          else resolve(response ?? {});
        },
      );
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /**
   * Yields responses until the signal aborts (iteration then completes) or the runtime ends the
   * stream. Throws a CriError.
   */
  async *stream<S extends ServiceName, M extends keyof Services[S] & string>(
    service: S,
    name: M,
    request: Request<S, M>,
    signal: AbortSignal,
  ): AsyncGenerator<Message<ResponseName<S, M>>, void> {
    const response = (
      services[service][name] as unknown as readonly [string, ResponseName<S, M>]
    )[1];
    for await (const message of this.streamOf(methodOf(service, name), request, signal)) {
      yield complete(response, message as Input<ResponseName<S, M>>);
    }
  }

  /** Yields the responses of a method outside of CRI on the same socket. */
  async *streamOf(
    method: CriMethod,
    request: object,
    signal: AbortSignal,
  ): AsyncGenerator<object, void> {
    if (signal.aborted) return;
    const call: ClientReadableStream<object> = this.#client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      new Metadata(),
      {},
    );
    const abort = (): void => call.cancel();
    signal.addEventListener('abort', abort, { once: true });
    try {
      for await (const message of call) yield message as object;
    } catch (error) {
      if (!signal.aborted) throw fromGrpc(error);
    } finally {
      signal.removeEventListener('abort', abort);
      call.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }
}
