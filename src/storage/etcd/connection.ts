// The connections to the members of one etcd cluster. Calls go to one member until it fails, then
// to the next. A read without a response is sent again. A write is sent once, and its caller has to
// find out the outcome.

import { isIP } from 'node:net';
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
} from '@grpc/grpc-js';
import type { Clock } from '#machinery/clock.ts';
import { identityCheck } from '#machinery/net/tls-identity.ts';
import type { Logger } from '#machinery/log.ts';
import { StorageError } from '../interface.ts';
import { detailsOf, failureKind } from './errors.ts';
import { type EtcdMethod, methodNamed } from './proto.ts';
import type { Methods, WatchResponse } from './schema.ts';
import { UnaryChannel } from './unary-channel.ts';

/** Certificates and keys in PEM. */
export interface EtcdTls {
  /** Certificate authorities. Absent: those that this platform trusts. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface EtcdConnectionConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** At least one endpoint such as 'https://10.0.0.1:2379'. Without a scheme: http. */
  readonly endpoints: readonly string[];
  /** TLS settings for endpoints with https. */
  readonly tls?: EtcdTls;
  /** The timeout of a call to one member, in ms. Default: 4 s. */
  readonly attemptTimeoutMs?: number;
  /** The timeout of a read, over all members in turn, in ms. Default: 15 s. */
  readonly timeoutMs?: number;
}

export interface Endpoint {
  readonly address: string;
  readonly secure: boolean;
}

interface Member {
  readonly address: string;
  readonly calls: UnaryChannel;
  /** For watches. It connects when the first one begins. */
  readonly client: Client;
  /** Its open streams of watches. Each function ends one. */
  readonly watches: Set<(error: Error) => void>;
}

const ATTEMPT_TIMEOUT_MS = 4000;
const TIMEOUT_MS = 15_000;
const RETRY_PAUSE_MS = 50;
const MAX_SEND_BYTES = 16 * 1024 * 1024;

/** Parses an endpoint. Throws TypeError if it is invalid. */
export function parseEndpoint(text: string): Endpoint {
  // A URL parser is of no use: it drops :443 as the default port of https, but the default here is
  // 2379.
  const [, scheme = 'http', address, port = '2379'] =
    /^(?:(https?):\/\/)?([\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?\/?$/i.exec(text) ?? [];
  if (address === undefined) {
    throw new TypeError(
      `${JSON.stringify(text)} is not an etcd endpoint: it must have the form https://10.0.0.1:2379`,
    );
  }
  return { address: `${address}:${port}`, secure: scheme.toLowerCase() === 'https' };
}

/**
 * The name that TLS asks for where an endpoint is an address: grpc-js asks for the address itself,
 * which TLS does not allow and Node warns of. Members ignore names that they do not know.
 */
const NO_NAME = 'etcd';

const hostOf = (address: string): string =>
  address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '');

/** Returns credentials for a member, whose certificate must have the host of its endpoint. */
function sslCredentials(address: string, { ca, cert, key }: EtcdTls): ChannelCredentials {
  const bytes = (pem: string | undefined): Buffer | null =>
    pem === undefined ? null : Buffer.from(pem);
  return credentials.createSsl(bytes(ca), bytes(key), bytes(cert), {
    checkServerIdentity: identityCheck(hostOf(address)),
  });
}

export class EtcdConnection {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #members: readonly Member[];
  readonly #attemptTimeoutMs: number;
  readonly #timeoutMs: number;
  /** The index in #members of the member that gets calls now. */
  #active = 0;
  #closed = false;

  constructor(config: EtcdConnectionConfig) {
    this.#clock = config.clock;
    this.#logger = config.logger;
    this.#attemptTimeoutMs = config.attemptTimeoutMs ?? ATTEMPT_TIMEOUT_MS;
    this.#timeoutMs = config.timeoutMs ?? TIMEOUT_MS;
    if (config.endpoints.length === 0)
      throw new TypeError('etcd: there must be at least one endpoint');
    const { ca, cert, key } = config.tls ?? {};
    this.#members = config.endpoints.map(parseEndpoint).map(({ address, secure }) => ({
      address,
      calls: new UnaryChannel({
        clock: config.clock,
        address,
        ...(secure && { tls: { ca, cert, key } }),
      }),
      client: new Client(
        address,
        secure ? sslCredentials(address, config.tls ?? {}) : credentials.createInsecure(),
        {
          ...(secure &&
            isIP(hostOf(address)) !== 0 && { 'grpc.ssl_target_name_override': NO_NAME }),
          'grpc.max_receive_message_length': -1,
          'grpc.max_send_message_length': MAX_SEND_BYTES,
          // A member that is paused or cut off does not close its connections. Only keepalives
          // detect it.
          'grpc.keepalive_time_ms': 10_000,
          'grpc.keepalive_timeout_ms': 4000,
          'grpc.initial_reconnect_backoff_ms': 100,
          'grpc.max_reconnect_backoff_ms': 2000,
          // Two engines in one process do not share connections.
          'grpc.use_local_subchannel_pool': 1,
          // These statistics are not used, and retries are decided here. Turning both off saves a
          // tenth of the CPU time of a call.
          'grpc.enable_channelz': 0,
          'grpc.enable_retries': 0,
        },
      ),
      watches: new Set(),
    }));
  }

  /** The timeout of a read over all members, in ms. */
  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /**
   * Sends a request that may be executed more than once, until it succeeds or the time is over.
   * Rejects with the last failure; with Closed after close().
   */
  async read<N extends keyof Methods>(
    name: N,
    request: Methods[N][0],
    timeoutMs = this.#timeoutMs,
  ): Promise<Methods[N][1]> {
    const deadline = this.#clock.monotonic() + timeoutMs;
    for (let attempt = 1; ; attempt++) {
      const left = Math.max(1, deadline - this.#clock.monotonic());
      try {
        return await this.send(name, request, Math.min(this.#attemptTimeoutMs, left));
      } catch (error) {
        const kind = failureKind(error);
        if (
          this.#closed ||
          (kind !== 'unknown' && kind !== 'busy') ||
          this.#clock.monotonic() >= deadline
        )
          throw error;
      }
      // Each member is tried without delay. After a round over all members the call waits a moment.
      if (attempt % this.#members.length === 0) await this.#clock.sleep(RETRY_PAUSE_MS);
    }
  }

  /** Sends the request once, to one member. */
  send<N extends keyof Methods>(
    name: N,
    request: Methods[N][0],
    timeoutMs = this.#attemptTimeoutMs,
  ): Promise<Methods[N][1]> {
    if (this.#closed) return Promise.reject(closedError());
    const method = methodNamed(name);
    const active = this.#active;
    const { calls } = this.#members[active]!;
    return calls.call(method, request, timeoutMs).then(
      (response) => response as Methods[N][1],
      (error: unknown) => {
        if (failureKind(error) === 'unknown') this.#leave(active, error);
        throw this.#closed ? closedError() : error;
      },
    );
  }

  /**
   * Opens a stream of watches on one member. The stream ends with an error when the member loses
   * its leader, or when calls leave the member, since one that does not respond sends no events. The
   * caller then calls `failed`.
   */
  watch(): {
    readonly call: ClientDuplexStream<object, WatchResponse>;
    readonly failed: (error: unknown) => void;
  } {
    if (this.#closed) throw closedError();
    const method: EtcdMethod = methodNamed('Watch.Watch');
    const active = this.#active;
    const metadata = new Metadata();
    metadata.set('hasleader', 'true');
    const { client, watches } = this.#members[active]!;
    const call = client.makeBidiStreamRequest<object, object>(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      metadata,
      {},
    );
    const leave = (error: Error): void => {
      call.emit('error', error);
    };
    watches.add(leave);
    // The last event of every stream.
    call.once('status', () => watches.delete(leave));
    return {
      call: call as ClientDuplexStream<object, WatchResponse>,
      failed: (error) => {
        watches.delete(leave);
        this.#leave(active, error);
      },
    };
  }

  close(): void {
    this.#closed = true;
    for (const { client, calls } of this.#members) {
      client.close();
      calls.close();
    }
  }

  /** Moves on to the next member, unless another call has already done so. */
  #leave(active: number, error: unknown): void {
    if (this.#closed || this.#active !== active || this.#members.length === 1) return;
    this.#active = (active + 1) % this.#members.length;
    const { watches } = this.#members[active]!;
    for (const leave of watches) leave(new Error('calls have left the member'));
    this.#logger.info('etcd: member does not respond, trying the next one', {
      member: this.#members[active]?.address,
      next: this.#members[this.#active]?.address,
      cause: detailsOf(error),
    });
  }
}

export function closedError(): StorageError {
  return new StorageError('Closed', 'the store is closed');
}
