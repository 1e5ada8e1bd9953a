// The connections of a server, each in one of a few states with a time limit. Connections without
// activity must not stay open: TCP without TLS, unfinished handshakes and requests, and idle
// connections are closed, for all versions of HTTP.
//
// One sweep per second checks the oldest connections of each state. A timer for each connection
// or request would cost more.

import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { Clock, Timer } from '../clock.ts';
import type { Logger } from '../log.ts';

/** Times in milliseconds. */
export interface ConnectionLimits {
  /** The time from the TCP connection to the end of the TLS handshake. */
  readonly handshakeMs: number;
  /** The time from the handshake to the first whole request head. */
  readonly headerMs: number;
  /** The time from the last response to the next whole request head. */
  readonly idleMs: number;
  /**
   * From the server's end of a connection to its destruction: the client can read the last response
   * meanwhile.
   */
  readonly lingerMs: number;
  /** The number of open connections at a time. */
  readonly maxConnections: number;
}

/** kube-apiserver's ReadHeaderTimeout, which limits the TLS handshake as well, and its IdleTimeout. */
const DEFAULTS = { handshakeMs: 32_000, headerMs: 32_000, idleMs: 90_000, lingerMs: 1000 } as const;
/** About 10 GB of connections with a request of HTTP/2 each. The limit of open files is usually lower. */
const MAX_CONNECTIONS = 100_000;
const SWEEP_INTERVAL_MS = 1000;
/** The interval of the warning that the limit is reached. */
const WARN_INTERVAL_MS = 60_000;

/** handshake → unasked → active ⇄ idle → closing. */
export type ConnectionState = 'handshake' | 'unasked' | 'idle' | 'active' | 'closing';

export interface ConnectionTableConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits?: Partial<ConnectionLimits>;
}

/** A connection of the table. */
export class TrackedConnection {
  readonly #table: ConnectionTable;
  /** The socket to destroy at the end: TCP, or TLS on it. */
  socket: Duplex;
  /** The time at which the connection entered its state, in monotonic milliseconds. */
  since = 0;
  state: ConnectionState = 'handshake';
  /** The number of requests in flight. */
  #requests = 0;
  /** Ends the connection in its protocol. Default: ends the socket. */
  goodbye: (() => void) | undefined;
  /** The next response of HTTP/1.1 is the last one. */
  isLast = false;

  constructor(table: ConnectionTable, socket: Duplex) {
    this.#table = table;
    this.socket = socket;
  }

  /** Records that a request began. */
  begin(): void {
    if (this.#requests++ === 0) this.#table.move(this, 'active');
  }

  /** Records that a request is over. */
  end(): void {
    if (--this.#requests === 0) this.#table.move(this, 'idle');
  }

  /**
   * Ends the connection after the written data. Destroys it soon after, even if the client does not
   * end its side.
   */
  close(): void {
    if (this.state === 'closing') return;
    this.#table.move(this, 'closing');
    if (this.socket.destroyed) return;
    if (this.goodbye !== undefined) this.goodbye();
    else {
      // A socket with unread bytes never sees its end.
      this.socket.resume();
      this.socket.end();
    }
  }
}

export class ConnectionTable {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #limits: ConnectionLimits;
  /** The connections by state, in the order in which they entered it: the oldest is the first. */
  readonly #byState: Readonly<Record<ConnectionState, Set<TrackedConnection>>> = {
    handshake: new Set(),
    unasked: new Set(),
    idle: new Set(),
    active: new Set(),
    closing: new Set(),
  };
  /** TCP connections with an incomplete handshake, by the client's address and port. */
  readonly #handshakes = new Map<string, TrackedConnection>();
  #size = 0;
  #sweeping: Timer | undefined;
  /**
   * The number of connections closed for the limit since the last warning, and the time of that
   * warning.
   */
  #refused = 0;
  #warnedAt = -Infinity;

  constructor({ clock, logger, limits }: ConnectionTableConfig) {
    this.#clock = clock;
    this.#logger = logger;
    this.#limits = { ...DEFAULTS, maxConnections: defaultMaxConnections(), ...limits };
  }

  /** The number of open connections. */
  get size(): number {
    return this.#size;
  }

  /** The connections whose handshake is complete and that are not closing. */
  get open(): Iterable<TrackedConnection> {
    const { unasked, idle, active } = this.#byState;
    return [...unasked, ...idle, ...active];
  }

  /** The number of connections in each state. */
  get states(): Readonly<Record<ConnectionState, number>> {
    const { handshake, unasked, idle, active, closing } = this.#byState;
    return {
      handshake: handshake.size,
      unasked: unasked.size,
      idle: idle.size,
      active: active.size,
      closing: closing.size,
    };
  }

  /**
   * Tracks an accepted TCP connection at the start of its handshake. At the limit, the least
   * important connection is closed.
   */
  accepted(socket: Socket): void {
    socket.on('error', () => undefined);
    if (this.#size >= this.#limits.maxConnections && !this.#makeRoom()) {
      socket.destroy();
      return;
    }
    const key = keyOf(socket);
    const connection = this.#add(socket, 'handshake');
    this.#handshakes.set(key, connection);
    socket.once('close', () => {
      this.#handshakes.delete(key);
      this.#remove(connection);
    });
  }

  /** Returns the connection of a TLS socket whose handshake is complete. */
  secured(socket: Socket): TrackedConnection {
    const key = keyOf(socket);
    const connection = this.#handshakes.get(key) ?? this.#add(socket, 'unasked');
    this.#handshakes.delete(key);
    connection.socket = socket;
    this.move(connection, 'unasked');
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#remove(connection));
    return connection;
  }

  /** Tracks a connection without a handshake. */
  opened(socket: Duplex): TrackedConnection {
    const connection = this.#add(socket, 'unasked');
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#remove(connection));
    return connection;
  }

  /** Changes the state of a connection. For TrackedConnection only. */
  move(connection: TrackedConnection, state: ConnectionState): void {
    const from = this.#byState[connection.state];
    // A connection that is closed or closing stays so.
    if (!from.delete(connection)) return;
    if (connection.state === 'closing') {
      from.add(connection);
      return;
    }
    connection.state = state;
    connection.since = this.#clock.monotonic();
    this.#byState[state].add(connection);
  }

  /** Destroys all connections. */
  destroyAll(): void {
    for (const connections of Object.values(this.#byState)) {
      for (const { socket } of connections) socket.destroy();
    }
  }

  /** Closes the connections without a request. */
  closeIdle(): void {
    for (const { socket } of this.#byState.handshake) socket.destroy();
    for (const connection of [...this.#byState.unasked, ...this.#byState.idle]) connection.close();
  }

  #add(socket: Duplex, state: ConnectionState): TrackedConnection {
    const connection = new TrackedConnection(this, socket);
    connection.state = state;
    connection.since = this.#clock.monotonic();
    this.#byState[state].add(connection);
    this.#size++;
    this.#sweeping ??= this.#clock.setInterval(SWEEP_INTERVAL_MS, () => this.#sweep());
    return connection;
  }

  #remove(connection: TrackedConnection): void {
    if (!this.#byState[connection.state].delete(connection)) return;
    this.#size--;
    if (this.#size > 0) return;
    this.#sweeping?.cancel();
    this.#sweeping = undefined;
  }

  #sweep(): void {
    const { handshakeMs, headerMs, idleMs, lingerMs } = this.#limits;
    for (const { socket } of this.#due('handshake', handshakeMs)) socket.destroy();
    for (const connection of this.#due('unasked', headerMs)) connection.close();
    for (const connection of this.#due('idle', idleMs)) connection.close();
    for (const { socket } of this.#due('closing', lingerMs)) socket.destroy();
  }

  #due(state: ConnectionState, limitMs: number): readonly TrackedConnection[] {
    const before = this.#clock.monotonic() - limitMs;
    const due: TrackedConnection[] = [];
    for (const connection of this.#byState[state]) {
      if (connection.since > before) break;
      due.push(connection);
    }
    return due;
  }

  /** Destroys the oldest connection without a request. Returns false if there is none. */
  #makeRoom(): boolean {
    this.#warn();
    for (const state of ['handshake', 'closing', 'unasked', 'idle'] as const) {
      const [oldest] = this.#byState[state];
      if (oldest === undefined) continue;
      oldest.socket.destroy();
      this.#remove(oldest);
      return true;
    }
    return false;
  }

  #warn(): void {
    this.#refused++;
    const now = this.#clock.monotonic();
    if (now - this.#warnedAt < WARN_INTERVAL_MS) return;
    this.#logger.warn('too many connections, closing the oldest ones without a request', {
      limit: this.#limits.maxConnections,
      closed: this.#refused,
    });
    this.#warnedAt = now;
    this.#refused = 0;
  }
}

/** Returns a key that is unique among the open connections of this machine's address. */
function keyOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}

let maxConnections: number | undefined;

/**
 * Returns at most four fifths of the process' limit of open files, where the system publishes it.
 * It is read once: each simulated node has a table.
 */
function defaultMaxConnections(): number {
  maxConnections ??= readMaxConnections();
  return maxConnections;
}

function readMaxConnections(): number {
  let limits: string;
  try {
    limits = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // The system is not Linux.
    return MAX_CONNECTIONS;
  }
  const files = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  return Math.min(MAX_CONNECTIONS, Math.floor(files * 0.8));
}
