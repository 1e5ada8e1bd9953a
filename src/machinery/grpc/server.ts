// A gRPC server at a unix socket: handlers by service and method name.

import type { EventEmitter } from 'node:events';
import { chmod, lstat, mkdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { errorMessage } from '../error-message.ts';
import { socketAddress } from './connection.ts';
import { RpcError } from './rpc-error.ts';
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

export interface CallContext {
  /** Aborts when the caller hangs up. */
  readonly signal: AbortSignal;
}

/**
 * Handles a method: returns the response, or an iterable of responses for a streaming method.
 * Throws an RpcError; any other error has the code INTERNAL.
 */
export type RpcHandler<S extends Schema, V extends ServiceName<S>, M extends MethodName<S, V>> = (
  request: Message<S, RequestName<S, V, M>>,
  context: CallContext,
) => S['services'][V][M] extends readonly [unknown, unknown, 'stream']
  ? AsyncIterable<Input<S, ResponseName<S, V, M>>>
  : Promise<Input<S, ResponseName<S, V, M>>> | Input<S, ResponseName<S, V, M>>;

/** The handlers of a service; a method without one has the code UNIMPLEMENTED. */
export type RpcHandlers<S extends Schema, V extends ServiceName<S>> = {
  readonly [M in MethodName<S, V>]?: RpcHandler<S, V, M>;
};

type AnyHandler = (request: unknown, context: CallContext) => unknown;

export class RpcServer<S extends Schema> {
  readonly #schema: S;
  readonly #server = new Server();

  constructor(schema: S) {
    this.#schema = schema;
  }

  addService<V extends ServiceName<S>>(service: V, handlers: RpcHandlers<S, V>): void {
    const definition = definitionOf(this.#schema)[
      `${this.#schema.package}.${service}`
    ] as unknown as ServiceDefinition;
    const implementation: UntypedServiceImplementation = {};
    const given = handlers as Readonly<Record<string, AnyHandler | undefined>>;
    for (const [method, { responseStream }] of Object.entries(definition)) {
      const handler = given[method];
      if (handler === undefined) continue;
      implementation[method] = responseStream ? streaming(handler) : unary(handler);
    }
    this.#server.addService(definition, implementation);
  }

  /**
   * Listens at the path. Replaces a socket that a previous process has left there; rejects if any
   * other file is there. Only the user of this process may connect, except at an abstract socket
   * (see socketAddress).
   */
  async listen(path: string): Promise<void> {
    const address = socketAddress(path);
    if (address !== path) {
      await this.#bind(address);
      return;
    }
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await removeSocket(path);
    await this.#bind(address);
    await chmod(path, 0o600);
  }

  #bind(address: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(`unix:${address}`, ServerCredentials.createInsecure(), (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  /** Ends all connections at once and stops listening. Idempotent. */
  close(): void {
    this.#server.forceShutdown();
  }
}

async function removeSocket(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSocket())
      throw new Error(`cannot listen at ${path}: a file that is not a socket is there`);
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function unary(handler: AnyHandler): handleUnaryCall<object, object> {
  return (call, callback) => {
    const abort = new AbortController();
    call.on('cancelled', () => abort.abort(new RpcError('CANCELLED', 'the caller has hung up')));
    const respond = async (): Promise<void> => {
      callback(...(await outcome(handler, call.request, { signal: abort.signal })));
    };
    void respond();
  };
}

/** Runs the handler; returns the arguments of grpc-js's callback. */
async function outcome(
  handler: AnyHandler,
  request: object,
  context: CallContext,
): Promise<readonly [ReturnType<typeof statusOf> | null, object?]> {
  try {
    return [null, (await handler(withoutNulls(request), context)) as object];
  } catch (error) {
    return [statusOf(error)];
  }
}

function streaming(handler: AnyHandler): handleServerStreamingCall<object, object> {
  return (call) => {
    const abort = new AbortController();
    call.on('cancelled', () => abort.abort(new RpcError('CANCELLED', 'the caller has hung up')));
    const context = { signal: abort.signal };
    const send = async (): Promise<void> => {
      const responses = handler(withoutNulls(call.request), context) as AsyncIterable<object>;
      for await (const response of responses) {
        if (abort.signal.aborted) return;
        if (!call.write(response)) await drained(call, abort.signal);
      }
      call.end();
    };
    send().catch((error: unknown) => call.emit('error', statusOf(error)));
  };
}

/** Resolves when the caller has read what it was sent, or is gone. */
function drained(call: EventEmitter, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    call.once('drain', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
}

function statusOf(error: unknown): { readonly code: number; readonly details: string } {
  if (error instanceof RpcError) return { code: error.number, details: error.details };
  return { code: 13, details: errorMessage(error) };
}
