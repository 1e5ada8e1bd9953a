// Opens connections to peers. A connection from here has an error listener from its first moment to its last, so that a
// reset can never become an uncaught error, and the dial ends within a time that does not depend on the peer.

import { lookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { connect as connectTcp, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import type { Duplex } from 'node:stream';

import type { Clock } from '#machinery/clock.ts';
import { isGlobalUnicast } from '../ip.ts';

/** A dial that takes longer fails: TCP and TLS together. */
export const DIAL_TIMEOUT_MS = 30_000;
/** A connection without traffic is probed after this time, so that a peer that vanished is noticed. */
const KEEP_ALIVE_MS = 30_000;

/** The peer's address is one that a proxy must not reach, such as loopback. */
export class AddressNotAllowedError extends Error {
  override readonly name = 'AddressNotAllowedError';

  constructor() {
    super('address not allowed');
  }
}

export interface DialConfig {
  /** An address, or a name that is resolved. */
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** Aborts the dial. Does not affect the connection afterwards. */
  readonly signal?: AbortSignal;
  /** Absent: plain TCP. */
  readonly tls?: Omit<ConnectionOptions, 'host' | 'port' | 'lookup' | 'socket'>;
  /**
   * Rejects with AddressNotAllowedError unless the address is global unicast. A name is judged by the addresses that it
   * resolves to, at the moment of the connection. Default: false.
   */
  readonly globalOnly?: boolean;
  /** Default: DIAL_TIMEOUT_MS. */
  readonly timeoutMs?: number;
}

/**
 * Resolves with an open connection, TLS included. Rejects with AddressNotAllowedError, the signal's reason, or the
 * socket's error.
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
 * Gives a stream an error listener for all of its life: an error then closes the stream and no more. Returns the
 * stream.
 */
export function watchErrors<T extends Duplex>(stream: T): T {
  stream.on('error', ignoreError);
  return stream;
}

/** The error reaches those who use the stream by its 'close' event, or by listeners of their own. */
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
