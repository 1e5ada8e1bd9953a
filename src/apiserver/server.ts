// The API server, composed from the parts in this folder. `listen` opens its port; without it only
// in-process clients can connect, and no socket is opened.

import type { Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { InProcessHandler } from '#client/in-process.ts';
import type { AuditLog } from './audit/index.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { ApiServerConfig } from './config.ts';
import type { HeartbeatBatch } from './heartbeats/index.ts';
import type { ServingTls } from './http/serving-tls.ts';
import type { Handler, UserInfo } from './request.ts';
import { ServerEntries, STOPPING } from './server-entries.ts';
import { createServerHandler, type ServerHandler } from './server-handler.ts';
import { createServerParts, type ServerParts } from './server-parts.ts';
import { ServerStart } from './server-start.ts';

export class ApiServer {
  readonly #config: ApiServerConfig;
  readonly #entries: ServerEntries;
  readonly #parts: ServerParts;
  readonly #chain: ServerHandler;
  readonly #start: ServerStart;
  /** Ends the background work. */
  readonly #background = new AbortController();
  #stopping: Promise<void> | undefined;

  /**
   * Builds the server. Throws RuntimeConfigError, UnknownAdmissionPluginError, and TypeError for
   * invalid ServiceAccount keys.
   */
  constructor(config: ApiServerConfig) {
    this.#config = config;
    const { signal } = this.#background;
    const entries = new ServerEntries(config, () => this.handler);
    this.#entries = entries;
    this.#parts = createServerParts(config, entries, {
      isStopping: () => this.#stopping !== undefined,
      hasOtherServers: () => this.#start.hasOtherServers(),
    });
    this.#chain = createServerHandler(config, this.#parts, { entries, signal });
    this.#start = new ServerStart(config, this.#parts, { entries, signal });
  }

  /** The kinds of the server. */
  get catalog(): Catalog {
    return this.#parts.catalog;
  }

  /** The whole handler chain, which gets the requests of every entry. */
  get handler(): Handler {
    return this.#chain.handler;
  }

  /**
   * Creates the objects of a new cluster, and starts the background work. Must be called once,
   * before other clients connect. Objects that exist already stay unchanged.
   */
  start(): Promise<void> {
    return this.#start.start();
  }

  /**
   * Opens the secure port. Rejects if the port is not available, or if the config has no `tls`.
   * `shared`: the socket of another process, which listens already.
   */
  listen(shared?: NetServer): Promise<{ readonly port: number; readonly url: string }> {
    this.#parts.aggregator.expectRequests();
    return this.#entries.listen(shared);
  }

  /** The listening socket, for workers. Undefined before `listen`. */
  get socket(): NetServer | undefined {
    return this.#entries.socket;
  }

  /**
   * Makes clients open this share of their connections anew, after the requests in flight: GOAWAY,
   * or `Connection: close`. Workers get some of the new ones. `share`: from 0 to 1.
   */
  shedConnections(share: number): void {
    this.#entries.shedConnections(share);
  }

  /**
   * Uses other certificates for new connections, and trusts and publishes other authorities of
   * clients and front proxies, which are given together; see Listener.setTls.
   */
  setTls(change: Partial<ServingTls>): void {
    this.#entries.setTls(change);
    if ('clientCa' in change) this.#parts.aggregator.setPeerAuthorities(change);
  }

  /**
   * Returns a handler for clients in this process that act as `user`, for createInProcessTransport.
   * Only authentication is skipped. `component`: names the client for `intercept`, where the user
   * does not.
   */
  inProcess(user: UserInfo, component?: string): InProcessHandler {
    return this.#entries.inProcess(user, component);
  }

  /**
   * Makes heartbeats of nodes whose kubelets are in this process, which skips authentication.
   * Resolves with the nodes whose kubelets have to make the request themselves. Never rejects.
   */
  async makeHeartbeats(batch: HeartbeatBatch): Promise<readonly string[]> {
    return this.#chain.heartbeats?.make(batch) ?? batch.nodes;
  }

  /**
   * Returns a connection to this server that speaks HTTP/1.1. All requests on it are made by
   * `user`: they are not authenticated. Without a user they are, by their headers, and come from
   * `remoteAddress`.
   */
  connect(user: UserInfo | undefined, remoteAddress?: string): Duplex {
    return this.#entries.connect(user, remoteAddress);
  }

  /** The audit log; undefined if there is none. */
  get audit(): Pick<AuditLog, 'process' | 'keepOpen'> | undefined {
    return this.#chain.audit;
  }

  /**
   * Fails /readyz, and keeps serving for `shutdownDelayMs`. Then ends watches, waits for other
   * requests (up to `shutdownTimeoutMs`), and closes the port. Idempotent. The storage stays open.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { clock, shutdownDelayMs = 0, shutdownTimeoutMs = 5000 } = this.#config;
    const parts = this.#parts;
    this.#entries.drain();
    await this.#start.leave();
    if (shutdownDelayMs > 0) await clock.sleep(shutdownDelayMs);
    const closed = this.#entries.close();
    this.#background.abort(STOPPING);
    parts.definitions.stop();
    parts.flowFollower?.stop();
    parts.flowControl?.stop();
    parts.roles.stop();
    parts.nodeGraph.stop();
    parts.aggregator.stop();
    this.#chain.stopAdmission();
    parts.webhooks.close();
    parts.authentication.externalSigner?.close();
    parts.catalog.close();
    this.#entries.endWatches();
    const timer = clock.setTimer(shutdownTimeoutMs, () => this.#entries.abortPort());
    await Promise.all([closed, this.#start.stop()]);
    timer.cancel();
    this.#chain.deadlines.stop();
    await this.#chain.audit?.stop();
    this.#entries.abortLocal();
  }
}
