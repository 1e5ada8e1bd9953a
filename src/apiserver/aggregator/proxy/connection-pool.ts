// Connections to backends that stay open between requests: a TLS handshake takes longer than most requests. There is a pool for each way
// in which backends prove themselves, so that no request uses a connection that its own APIService would not have accepted.

import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';

import type { DialBackend } from './backend-request.ts';

/** A connection that no request uses is closed after this time. */
const IDLE_MS = 30_000;
/** More connections than this, to all endpoints of a pool, do not stay open without a request. */
const MAX_IDLE = 32;

/** What `createConnection` gets of a request. */
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

/** The pools, by the settings of their connections. */
export class ConnectionPools {
  readonly #dial: DialBackend;
  readonly #agents = new Map<string, BackendAgent>();

  constructor(dial: DialBackend) {
    this.#dial = dial;
  }

  /** Returns the pool for these settings. `key`: the same for equal settings, and for no others. */
  agent(key: string, tls: ConnectionOptions): BackendAgent {
    let agent = this.#agents.get(key);
    if (agent === undefined) {
      agent = new BackendAgent(this.#dial, tls);
      this.#agents.set(key, agent);
    }
    return agent;
  }

  /** Forgets all other pools. Requests that use their connections finish; idle connections are closed after IDLE_MS. */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#agents.keys()) if (!keys.has(key)) this.#agents.delete(key);
  }

  /** Closes all connections. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }
}
