// Opens connections to peers. A connection has an error listener from its first moment to its last,
// so a reset cannot become an uncaught error. A dial ends within a time that does not depend on the
// peer.

import { lookup, type LookupAddress } from 'node:dns';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { Duplex } from 'node:stream';

import type { Clock } from '#machinery/clock.ts';
import { isGlobalUnicast } from '../ip.ts';

/** The longest time for TCP and TLS together. */
export const DIAL_TIMEOUT_MS = 30_000;
/**
 * The time without traffic after which a connection is probed, so that a vanished peer is noticed.
 */
const KEEP_ALIVE_MS = 30_000;

/** A proxy must not reach the peer's address, such as loopback. */
export class AddressNotAllowedError extends Error {
  override readonly name = 'AddressNotAllowedError';

  constructor() {
    super('address not allowed');
  }
}

export interface DialConfig {
  /** An address, or a name to resolve. */
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** Aborts the dial. Has no effect on an open connection. */
  readonly signal?: AbortSignal;
  /** Absent: plain TCP. */
  readonly tls?: Omit<ConnectionOptions, 'host' | 'port' | 'lookup' | 'socket'>;
  /**
   * Rejects with AddressNotAllowedError unless the address is global unicast. A name is judged by
   * its resolved addresses, at the moment of the connection. Default: false.
   */
  readonly globalOnly?: boolean;
  /** Default: DIAL_TIMEOUT_MS. */
  readonly timeoutMs?: number;
}

/**
 * Opens a connection, TLS included. Rejects with AddressNotAllowedError, the signal's reason, or
 * the socket's error.
 */
export function dial({
  host,
  port,
  clock,
  signal,
  tls,
  globalOnly = false,
  timeoutMs = DIAL_TIMEOUT_MS,
}: DialConfig): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    if (globalOnly && isIP(host) !== 0 && !isGlobalUnicast(host))
      throw new AddressNotAllowedError();
    const target = { host, port, ...(globalOnly && { lookup: lookupGlobal }) };
    const socket = watchErrors(
      tls === undefined
        ? connectTcp(target)
        : connectTls({ ...target, ...(isIP(host) === 0 && { servername: host }), ...tls }),
    );
    const settle = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (reason: unknown): void => {
      settle();
      socket.destroy();
      reject(reason);
    };
    const onAbort = (): void => fail(signal?.reason);
    const timer = clock.setTimer(timeoutMs, () =>
      fail(new Error(`dial tcp ${joinHostPort(host, port)}: i/o timeout`)),
    );
    signal?.addEventListener('abort', onAbort, { once: true });
    socket.once('error', fail);
    socket.once('close', () =>
      fail(new Error(`dial tcp ${joinHostPort(host, port)}: the connection was closed`)),
    );
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      settle();
      socket.off('error', fail);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      resolve(socket);
    });
  });
}

/**
 * Adds an error listener to a stream for all of its life, so that an error closes the stream and
 * has no other effect. Returns the stream.
 */
export function watchErrors<T extends Duplex>(stream: T): T {
  stream.on('error', ignoreError);
  return stream;
}

/** Users of the stream see the error by its 'close' event, or by their own listeners. */
function ignoreError(): void {}

export function joinHostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Resolves a name and fails unless all of its addresses are global unicast. */
const lookupGlobal: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error !== null) {
      callback(error, '');
      return;
    }
    const [first] = addresses;
    if (first === undefined || !addresses.every(({ address }) => isGlobalUnicast(address))) {
      callback(new AddressNotAllowedError(), '');
      return;
    }
    if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
