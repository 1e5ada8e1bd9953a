// The ways by which requests reach the server: the secure port, clients in this process, and
// connections that stay in it. All of them end in the same handler chain.

import type { Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { InProcessHandler } from '#client/in-process.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { LinkedList } from '#machinery/collections/linked-list.ts';
import type { ApiServerConfig } from './config.ts';
import { Listener } from './http/listener.ts';
import { LocalConnections } from './http/local-connections.ts';
import { advertisedAddress } from './own-endpoints.ts';
import type { ServingTls } from './http/serving-tls.ts';
import type { ApiResponse, Handler, UserInfo } from './request.ts';
import { RequestState } from './request-state.ts';

export const DEFAULT_PORT = 6443;
const DEFAULT_BIND_ADDRESS = '127.0.0.1';

/** The answer to requests that come, or do not end, while the server stops. */
export const STOPPING = apierrors.serviceUnavailable('the API server is shutting down');

type Config = Pick<
  ApiServerConfig,
  | 'clock'
  | 'random'
  | 'logger'
  | 'tls'
  | 'bindAddress'
  | 'port'
  | 'advertiseAddress'
  | 'connectionLimits'
  | 'requestHeader'
  | 'goawayChance'
>;

export class ServerEntries {
  readonly #config: Config;
  readonly #handler: () => Handler;
  #listener: Listener | undefined;
  #port: number | undefined;
  #advertised: string | undefined;
  /** In-process requests in flight. */
  readonly #inProcess = new LinkedList<RequestState>();
  #local: LocalConnections | undefined;
  #stopped = false;

  /** `handler`: returns the handler chain. */
  constructor(config: Config, handler: () => Handler) {
    this.#config = config;
    this.#handler = handler;
  }

  /** Once. See ApiServer.listen. */
  async listen(shared?: NetServer): Promise<{ readonly port: number; readonly url: string }> {
    const { tls, clock, logger, random } = this.#config;
    if (tls === undefined)
      throw new Error('an API server without a certificate cannot listen: its config has no `tls`');
    if (this.#listener !== undefined) throw new Error('the API server is already listening');
    const bindAddress = this.#config.bindAddress ?? DEFAULT_BIND_ADDRESS;
    const listener = new Listener({
      handler: this.#handler(),
      clock,
      logger,
      limits: this.#config.connectionLimits,
      random,
      bindAddress,
      port: this.#config.port ?? DEFAULT_PORT,
      ...tls,
      requestHeaderCa: this.#config.requestHeader?.ca,
      ...(this.#config.goawayChance !== undefined && { goawayChance: this.#config.goawayChance }),
    });
    const port = await listener.start(shared);
    this.#port = port;
    this.#listener = listener;
    const host = bindAddress === '0.0.0.0' || bindAddress === '::' ? '127.0.0.1' : bindAddress;
    return { port, url: `https://${hostInUrl(host)}:${port}` };
  }

  /** Undefined before listen(). */
  get port(): number | undefined {
    return this.#port;
  }

  /** The listening socket. Undefined before listen(). */
  get socket(): NetServer | undefined {
    return this.#listener?.socket;
  }

  /** See ApiServer.shedConnections. */
  shedConnections(share: number): void {
    this.#listener?.shed(share);
  }

  /** See ApiServer.setTls. */
  setTls(change: Partial<ServingTls>): void {
    this.#listener?.setTls(change);
  }

  /** See ApiServer.inProcess. */
  inProcess(user: UserInfo, component?: string): InProcessHandler {
    return async (incoming) => {
      const { method, path, query, headers, body, remoteAddress, warnings } = incoming;
      if (this.#stopped) throw STOPPING;
      const request = new RequestState({
        method,
        path,
        query,
        headers,
        body,
        remoteAddress,
        warnings,
        user,
        component,
        parentSignal: () => incoming.signal,
      });
      this.#inProcess.add(request);
      let response: ApiResponse;
      try {
        response = await this.#handler()(request);
      } finally {
        this.#inProcess.delete(request);
      }
      if (response.body.kind === 'taken')
        throw new Error('a request in this process cannot be upgraded');
      return { code: response.code, body: response.body };
    };
  }

  /** See ApiServer.connect. */
  connect(user: UserInfo | undefined, remoteAddress?: string): Duplex {
    if (this.#stopped) throw STOPPING;
    this.#local ??= new LocalConnections({
      handler: this.#handler(),
      logger: this.#config.logger,
    });
    return this.#local.open(user, remoteAddress);
  }

  /** The address by which pods and other machines reach the server. Undefined: there is none. */
  get advertisedAddress(): string | undefined {
    const { advertiseAddress, bindAddress = DEFAULT_BIND_ADDRESS } = this.#config;
    return advertiseAddress ?? advertisedAddress(bindAddress);
  }

  /** Returns the server's external address, 'HOST:PORT'. */
  externalAddress(): string {
    const { bindAddress = DEFAULT_BIND_ADDRESS, port = DEFAULT_PORT } = this.#config;
    this.#advertised ??= this.advertisedAddress ?? bindAddress;
    return `${hostInUrl(this.#advertised)}:${this.#port ?? port}`;
  }

  /** Asks the clients of the port to leave; they are served still. */
  drain(): void {
    this.#listener?.drain();
  }

  /** Refuses new requests. Resolves when those of the port have ended, and it is closed. */
  async close(): Promise<void> {
    const closed = this.#listener?.stop();
    this.#stopped = true;
    await closed;
  }

  /** After close(): ends the watches of all entries. */
  endWatches(): void {
    for (const request of [
      ...this.#inProcess,
      ...(this.#local?.requests ?? []),
      ...(this.#listener?.requests ?? []),
    ]) {
      if (request.info.verb === 'watch') request.abort(STOPPING);
    }
  }

  /** Ends the requests of the port. */
  abortPort(): void {
    this.#listener?.abort(STOPPING);
  }

  /** Ends the requests in this process. */
  abortLocal(): void {
    for (const request of this.#inProcess) request.abort(STOPPING);
    this.#local?.close(STOPPING);
  }
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
