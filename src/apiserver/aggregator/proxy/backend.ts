// Connections to the API servers behind APIServices. Who is reached is decided by the APIService and the endpoints of its service alone;
// the other side proves itself by its caBundle, and this server by the front proxy's certificate.

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { createSecureContext, type ConnectionOptions, type SecureContext } from 'node:tls';

import type { Clock } from '#machinery/clock.ts';
import { BodyAbortedError, dial as dialPeer, exchange, joinHostPort } from '#machinery/net/peer/index.ts';
import type { Answer } from '#machinery/net/peer/index.ts';
import type { Random } from '#machinery/random.ts';
import type { RemoteApiService, ServiceReference } from '../api-services.ts';
import { networkErrorMessage, type Peer } from '../network-errors.ts';
import { chooseEndpoint, NoEndpointError } from '../service-endpoint.ts';
import type { ServiceStates } from '../service-states.ts';

export interface ClientCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

/** Opens a connection with TLS. Rejects with the socket's error. */
export type DialBackend = (peer: Peer, tls: ConnectionOptions, signal: AbortSignal | undefined) => Promise<Duplex>;

export interface BackendsConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly services: Pick<ServiceStates, 'get'>;
  /** Returns what this server presents to the others. Undefined: nothing. */
  readonly certificate: () => ClientCertificate | undefined;
  /** Default: TCP and TLS. */
  readonly dial?: DialBackend;
}

/** The settings of an APIService cannot be used. The message is upstream's. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
}

/** The backend did not answer. The message is in the words of Go's net/http. */
export class BackendError extends Error {
  override readonly name = 'BackendError';
}

export interface BackendRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Uint8Array | Readable;
  readonly signal: AbortSignal;
  readonly upgrade?: boolean;
  /** Default: no limit but the signal. */
  readonly headTimeoutMs?: number;
}

/** The backend of one request: its address is chosen. */
export interface Backend {
  /** 'HOST:PORT'. */
  readonly host: string;
  /** Rejects with BackendError, BodyAbortedError or the signal's reason. */
  send(request: BackendRequest): Promise<Answer>;
}

export class Backends {
  readonly #config: BackendsConfig;
  readonly #dial: DialBackend;
  /** By APIService; made again when the certificate changes. */
  readonly #contexts = new WeakMap<
    RemoteApiService,
    { readonly cert: ClientCertificate | undefined; readonly tls: ConnectionOptions }
  >();

  constructor(config: BackendsConfig) {
    this.#config = config;
    this.#dial = config.dial ?? dialWith(config.clock);
  }

  /** Chooses an endpoint. Throws NoEndpointError, and TransportError for a caBundle that contains no certificate. */
  choose(service: RemoteApiService): Backend {
    const tls = this.tlsOf(service);
    const peer = this.#endpointOf(service.spec.service);
    return {
      host: joinHostPort(peer.host, peer.port),
      send: (request) => this.#send(peer, tls, request),
    };
  }

  /** Throws TransportError. */
  tlsOf(service: RemoteApiService): ConnectionOptions {
    const certificate = this.#config.certificate();
    let made = this.#contexts.get(service);
    if (made === undefined || made.cert !== certificate) {
      made = { cert: certificate, tls: tlsOptions(service, certificate) };
      this.#contexts.set(service, made);
    }
    return made.tls;
  }

  #endpointOf({ namespace = '', name = '', port = 443 }: ServiceReference): Peer {
    const { service, slices } = this.#config.services.get(namespace, name);
    if (service === undefined) throw new NoEndpointError(`service ${JSON.stringify(name)} not found`);
    return chooseEndpoint(service, slices, port, this.#config.random);
  }

  async #send(peer: Peer, tls: ConnectionOptions, request: BackendRequest): Promise<Answer> {
    const { signal } = request;
    try {
      const connection = await this.#dial(peer, tls, signal);
      return await exchange({ ...request, connection, clock: this.#config.clock });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof BodyAbortedError) throw error;
      throw new BackendError(networkErrorMessage(error, peer), { cause: error });
    }
  }
}

function tlsOptions({ spec }: RemoteApiService, certificate: ClientCertificate | undefined): ConnectionOptions {
  const { name = '', namespace = '' } = spec.service;
  return {
    servername: `${name}.${namespace}.svc`,
    rejectUnauthorized: spec.insecureSkipTLSVerify !== true,
    ALPNProtocols: ['http/1.1'],
    secureContext: secureContext(spec.caBundle, certificate),
  };
}

/** Without a caBundle the authorities that Node has built in are trusted. */
function secureContext(caBundle: string | undefined, certificate: ClientCertificate | undefined): SecureContext {
  const ca = caBundle === undefined ? undefined : Buffer.from(caBundle, 'base64').toString('latin1');
  if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) throw badBundle();
  try {
    return createSecureContext({ ...certificate, ca, minVersion: 'TLSv1.2' });
  } catch (error) {
    throw badBundle(error);
  }
}

function badBundle(cause?: unknown): TransportError {
  return new TransportError('unable to load root certificates: unable to parse bytes as PEM block', { cause });
}

function dialWith(clock: Clock): DialBackend {
  return ({ host, port }, tls, signal) => dialPeer({ host, port, clock, signal, tls });
}

/** Reads a body of at most `limit` bytes. Throws BackendError for a longer one, which is not read to its end. */
export async function readBody(message: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > limit) throw new BackendError(`the response is larger than ${limit} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof BackendError) throw error;
    throw new BackendError('unexpected EOF', { cause: error });
  }
  return Buffer.concat(chunks);
}
