// Connections to backends that stay open between requests, since a TLS handshake takes longer than
// most requests. There is a pool for each set of TLS settings, so that no request uses a connection
// that its own APIService would not have accepted.

import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';

import type { DialBackend } from './backend-request.ts';

/** The time in ms after which an unused connection is closed. */
const IDLE_MS = 30_000;
/** The maximum number of unused connections of a pool, to all endpoints together. */
const MAX_IDLE = 32;

/** The options that `createConnection` gets. */
interface PooledOptions {
  readonly host?: string | null;
  readonly port?: number | string | null;
  /** Aborts the dial. */
  readonly dialSignal?: AbortSignal;
}

export class BackendAgent extends Agent {
  readonly #dial: DialBackend;
  readonly #tls: ConnectionOptions;

  constructor(dial: DialBackend, tls: ConnectionOptions) {
    super({ keepAlive: true, maxFreeSockets: MAX_IDLE, scheduling: 'lifo', timeout: IDLE_MS });
    this.#dial = dial;
    this.#tls = tls;
  }

  override createConnection(
    options: PooledOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const { host, port, dialSignal } = options;
    const connected = callback as ((error: Error | null, stream?: Duplex) => void) | undefined;
    this.#dial({ host: host ?? '', port: Number(port) }, this.#tls, dialSignal).then(
      (stream) => connected?.(null, stream),
      (error: unknown) => connected?.(error as Error),
    );
    return undefined;
  }
}

/** The pools by TLS settings. */
export class ConnectionPools {
  readonly #dial: DialBackend;
  readonly #agents = new Map<string, BackendAgent>();

  constructor(dial: DialBackend) {
    this.#dial = dial;
  }

  /** Returns the pool for these settings. `key` must be equal exactly for equal settings. */
  agent(key: string, tls: ConnectionOptions): BackendAgent {
    let agent = this.#agents.get(key);
    if (agent === undefined) {
      agent = new BackendAgent(this.#dial, tls);
      this.#agents.set(key, agent);
    }
    return agent;
  }

  /**
   * Forgets all other pools. Requests that use their connections finish; idle connections are
   * closed after IDLE_MS.
   */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#agents.keys()) if (!keys.has(key)) this.#agents.delete(key);
  }

  /** Closes all connections. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }
}
