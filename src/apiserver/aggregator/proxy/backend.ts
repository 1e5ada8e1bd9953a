// Connections to the API servers behind APIServices. Only the APIService and the endpoints of its
// service determine the address. The caBundle authenticates the backend, and the front proxy's
// certificate authenticates this server.

import type { IncomingMessage } from 'node:http';
import { createSecureContext, type ConnectionOptions, type SecureContext } from 'node:tls';

import type { Clock } from '#machinery/clock.ts';
import {
  describeTransportError,
  type Answer,
  BodyAbortedError,
  dial as dialPeer,
  exchange,
  joinHostPort,
} from '#machinery/net/peer/index.ts';
import type { Random } from '#machinery/random.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { resolveService, type ServiceAddress } from '../../service-resolver/resolve.ts';
import type { CertificateMetrics } from '../../webhooks/client/certificate-metrics.ts';
import { checkCertificateNames } from '../../webhooks/client/certificate-names.ts';
import type { RemoteApiService } from '../api-services.ts';
import type { ServiceStates } from '../service-states.ts';
import type { BackendRequest, DialBackend } from './backend-request.ts';
import { ConnectionPools } from './connection-pool.ts';
import { pooledExchange } from './pooled-exchange.ts';

export interface ClientCertificate {
  /** The certificate in PEM. `key` is its private key. */
  readonly cert: string;
  readonly key: string;
}

/**
 * The maximum size of a response's headers. It is the same limit as for requests to this server.
 */
const MAX_HEADER_BYTES = 1024 * 1024;

export interface BackendsConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly services: Pick<ServiceStates, 'find' | 'findAll' | 'synced'>;
  /** Returns the certificate that this server presents. Undefined: none. */
  readonly certificate: () => ClientCertificate | undefined;
  /** Opens connections. Default: TCP and TLS. */
  readonly dial?: DialBackend;
  /** Counts problems of certificates. Default: nothing is counted. */
  readonly certificateMetrics?: CertificateMetrics;
}

/** The TLS settings of an APIService are invalid. The message is upstream's. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
}

/** The service has no endpoint now. The message is upstream's. */
export class NoEndpointError extends Error {
  override readonly name = 'NoEndpointError';
}

/** The backend did not respond. The message has the words of Go's net/http. */
export class BackendError extends Error {
  override readonly name = 'BackendError';
}

/** The backend of one request. Its address is already chosen. */
export interface Backend {
  /** The address, 'HOST:PORT'. */
  readonly host: string;
  /** Sends the request. Rejects with BackendError, BodyAbortedError or the signal's reason. */
  send(request: BackendRequest): Promise<Answer>;
}

export interface TlsSettings {
  readonly key: string;
  readonly tls: ConnectionOptions;
}

export class Backends {
  readonly #config: BackendsConfig;
  readonly #dial: DialBackend;
  readonly #pools: ConnectionPools;
  readonly #settings = new Map<string, TlsSettings>();
  /** The certificate of the current settings. */
  #certificate: ClientCertificate | undefined;

  constructor(config: BackendsConfig) {
    this.#config = config;
    this.#dial = config.dial ?? dialWith(config.clock);
    this.#pools = new ConnectionPools(this.#dial);
  }

  /**
   * Chooses an endpoint. Rejects with NoEndpointError, and with TransportError for a caBundle
   * without a certificate.
   */
  async choose(service: RemoteApiService): Promise<Backend> {
    const tls = this.tlsOf(service);
    const { namespace = '', name = '', port = 443 } = service.spec.service;
    const { services, random } = this.#config;
    let address: ServiceAddress;
    await services.synced(namespace, name);
    try {
      address = await resolveService(
        { find: services.find, findAll: services.findAll, random },
        namespace,
        name,
        port,
      );
    } catch (error) {
      throw new NoEndpointError(errorMessage(error), { cause: error });
    }
    return {
      host: joinHostPort(address.host, address.port),
      send: (request) => this.#send(address, tls, request),
    };
  }

  /** Returns the TLS settings for an APIService. Throws TransportError. */
  tlsOf(service: RemoteApiService): TlsSettings {
    const certificate = this.#config.certificate();
    if (certificate !== this.#certificate) {
      this.#certificate = certificate;
      this.#settings.clear();
      this.#pools.retain(new Set());
    }
    const key = keyOf(service);
    let settings = this.#settings.get(key);
    if (settings === undefined) {
      settings = { key, tls: tlsOptions(service, certificate) };
      this.#settings.set(key, settings);
    }
    return settings;
  }

  /** Drops settings and pools of all but these APIServices. */
  retain(services: Iterable<RemoteApiService>): void {
    const keys = new Set(Array.from(services, keyOf));
    for (const key of this.#settings.keys()) if (!keys.has(key)) this.#settings.delete(key);
    this.#pools.retain(keys);
  }

  /** Closes all connections. */
  close(): void {
    this.#pools.close();
  }

  async #send(
    address: ServiceAddress,
    { key, tls }: TlsSettings,
    request: BackendRequest,
  ): Promise<Answer> {
    const { clock } = this.#config;
    const { signal } = request;
    try {
      if (request.upgrade === true) {
        const connection = await this.#dial(address, tls, signal);
        return await exchange({ ...request, connection, clock, maxHeaderBytes: MAX_HEADER_BYTES });
      }
      const pooled = {
        agent: this.#pools.agent(key, tls),
        ...address,
        clock,
        maxHeaderBytes: MAX_HEADER_BYTES,
      };
      return { kind: 'response', message: await pooledExchange(pooled, request) };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof BodyAbortedError) throw error;
      this.#config.certificateMetrics?.failed(error);
      throw new BackendError(messageOf(error, clock.now()), { cause: error });
    }
  }
}

/** Returns a key that is equal for APIServices whose backends are authenticated in the same way. */
function keyOf({ spec }: RemoteApiService): string {
  const { name = '', namespace = '' } = spec.service;
  return JSON.stringify([
    namespace,
    name,
    spec.insecureSkipTLSVerify === true,
    spec.caBundle ?? '',
  ]);
}

/**
 * Returns the message of a connection error. Go's message for a connection that ends before the
 * response is EOF.
 */
function messageOf(error: unknown, now: number): string {
  const message = describeTransportError(error, now);
  return message.startsWith('the peer closed the connection') ? 'EOF' : message;
}

function tlsOptions(
  { spec }: RemoteApiService,
  certificate: ClientCertificate | undefined,
): ConnectionOptions {
  const { name = '', namespace = '' } = spec.service;
  const servername = `${name}.${namespace}.svc`;
  return {
    servername,
    checkServerIdentity: (_host, peer) => checkCertificateNames(servername, peer),
    rejectUnauthorized: spec.insecureSkipTLSVerify !== true,
    ALPNProtocols: ['http/1.1'],
    secureContext: secureContext(spec.caBundle, certificate),
  };
}

/** Returns the TLS context. Without a caBundle, Node's built-in authorities are trusted. */
function secureContext(
  caBundle: string | undefined,
  certificate: ClientCertificate | undefined,
): SecureContext {
  const ca =
    caBundle === undefined ? undefined : Buffer.from(caBundle, 'base64').toString('latin1');
  if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) throw badBundle();
  try {
    // As in Go, every certificate in the bundle is trusted: also an intermediate authority, or the
    // server's own certificate.
    return createSecureContext({
      ...certificate,
      ca,
      minVersion: 'TLSv1.2',
      allowPartialTrustChain: ca !== undefined,
    });
  } catch (error) {
    throw badBundle(error);
  }
}

function badBundle(cause?: unknown): TransportError {
  return new TransportError(
    'unable to load root certificates: unable to parse bytes as PEM block',
    { cause },
  );
}

function dialWith(clock: Clock): DialBackend {
  return ({ host, port }, tls, signal) => dialPeer({ host, port, clock, signal, tls });
}

/**
 * Reads a body of at most `limit` bytes. Throws BackendError for a longer one, without reading all
 * of it.
 */
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
