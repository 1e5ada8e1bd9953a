// Connections to the API servers behind APIServices. Who is reached is decided by the APIService and the endpoints of its service alone;
// the other side proves itself by its caBundle, and this server by the front proxy's certificate.

import type { IncomingMessage } from 'node:http';
import { createSecureContext, type ConnectionOptions, type SecureContext } from 'node:tls';

import type { Clock } from '#machinery/clock.ts';
import {
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
import { describeTransportError } from '../../webhooks/client/transport-errors.ts';
import type { RemoteApiService } from '../api-services.ts';
import type { ServiceStates } from '../service-states.ts';
import type { BackendRequest, DialBackend } from './backend-request.ts';
import { ConnectionPools } from './connection-pool.ts';
import { pooledExchange } from './pooled-exchange.ts';

export interface ClientCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

/** Of a response: as much as this server takes of a request. */
const MAX_HEADER_BYTES = 1024 * 1024;

export interface BackendsConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly services: Pick<ServiceStates, 'find' | 'findAll' | 'synced'>;
  /** Returns what this server presents to the others. Undefined: nothing. */
  readonly certificate: () => ClientCertificate | undefined;
  /** Default: TCP and TLS. */
  readonly dial?: DialBackend;
  /** Default: nothing is counted. */
  readonly certificateMetrics?: CertificateMetrics;
}

/** The settings of an APIService cannot be used. The message is upstream's. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
}

/** The service cannot be reached now. The message is upstream's. */
export class NoEndpointError extends Error {
  override readonly name = 'NoEndpointError';
}

/** The backend did not answer. The message is in the words of Go's net/http. */
export class BackendError extends Error {
  override readonly name = 'BackendError';
}

/** The backend of one request: its address is chosen. */
export interface Backend {
  /** 'HOST:PORT'. */
  readonly host: string;
  /** Rejects with BackendError, BodyAbortedError or the signal's reason. */
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
  /** The certificate that the settings were made with. */
  #certificate: ClientCertificate | undefined;

  constructor(config: BackendsConfig) {
    this.#config = config;
    this.#dial = config.dial ?? dialWith(config.clock);
    this.#pools = new ConnectionPools(this.#dial);
  }

  /** Chooses an endpoint. Rejects with NoEndpointError, and TransportError for a caBundle that contains no certificate. */
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

  /** Throws TransportError. */
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

  /** Keeps what is needed for these APIServices, and nothing else. */
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

/** Equal for APIServices whose backends prove themselves in the same way. */
function keyOf({ spec }: RemoteApiService): string {
  const { name = '', namespace = '' } = spec.service;
  return JSON.stringify([
    namespace,
    name,
    spec.insecureSkipTLSVerify === true,
    spec.caBundle ?? '',
  ]);
}

/** Go calls a connection that ends before the response EOF. */
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

/** Without a caBundle the authorities that Node has built in are trusted. */
function secureContext(
  caBundle: string | undefined,
  certificate: ClientCertificate | undefined,
): SecureContext {
  const ca =
    caBundle === undefined ? undefined : Buffer.from(caBundle, 'base64').toString('latin1');
  if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) throw badBundle();
  try {
    // As in Go, whatever is in the bundle is trusted: also an intermediate authority, or the server's own certificate.
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
