// The TLS ports of kubelets. All kubelets of a process share one TLS context; each has its own
// port, because a connection to a node's address identifies the node only by its port.

import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type SecureVersion,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls';
import type { Logger } from '#machinery/log.ts';
import { TLS_SERVER_OPTIONS } from '#machinery/serving/index.ts';

export interface ServerTlsConfig {
  /** The private key, as PEM. */
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  /** The CA of accepted client certificates, as PEM. */
  readonly clientCA: string | Buffer;
  /** Default: see TLS_SERVER_OPTIONS. */
  readonly minVersion?: SecureVersion;
  /** Cipher suites in OpenSSL's form. Default: see TLS_SERVER_OPTIONS. */
  readonly ciphers?: string;
  /** OpenSSL's names of key exchanges, separated by colons. Default: OpenSSL's. */
  readonly curves?: string;
}

/** Without a certificate, handshakes fail until one is set: it is still to be issued. */
export type ListenerTls = Omit<ServerTlsConfig, 'key' | 'cert'> & Partial<ServingPair>;
type ServingPair = Pick<ServerTlsConfig, 'key' | 'cert'>;

export interface TlsListenersConfig {
  readonly tls: ListenerTls;
  /**
   * Reports whether the certificate may be presented: one that was issued and has expired may not.
   * Asked at each connection. Default: it may.
   */
  readonly isCertificateUsable?: () => boolean;
  /** The address to listen on. Default: all addresses. */
  readonly host?: string;
  /**
   * Only connections from this machine are served; others are closed before the TLS handshake. For
   * nodes whose address must work on the machine itself, in a cluster that is not meant for the
   * network. Default: false.
   */
  readonly thisMachineOnly?: boolean;
  readonly logger: Logger;
}

/** Handles the connections of a port. */
export interface PortHandlers {
  /** Called with a TCP connection whose handshake begins. */
  accepted(socket: Socket): void;
  /** Called with a connection whose handshake is complete. */
  secured(socket: TLSSocket): void;
}

export interface OpenPort {
  readonly port: number;
  /** Stops listening. Connections stay as they are. */
  close(): Promise<void>;
}

/** Opens ports for servers. */
export interface PortOpener {
  /** The address of the ports; undefined: all addresses. */
  readonly host: string | undefined;
  /** See TlsListeners. */
  open(port: number, handlers: PortHandlers, orFree?: boolean): Promise<OpenPort>;
}

export class TlsListeners implements PortOpener {
  readonly #config: TlsListenersConfig;
  #settings: ListenerTls;
  /** This server never listens: connections of the ports are passed to it. */
  readonly #tls: TlsServer;
  /** By local port. */
  readonly #handlers = new Map<number, PortHandlers>();
  /** Whether the certificate was withdrawn because it cannot be used any more. */
  #withdrawn = false;

  constructor(config: TlsListenersConfig) {
    this.#config = config;
    this.#settings = config.tls;
    // A client without a valid certificate gets status 401 instead of a failed handshake: it may
    // have a token.
    this.#tls = createTlsServer({
      requestCert: true,
      rejectUnauthorized: false,
      ...secureContext(config.tls),
    });
    this.#tls.on('secureConnection', (socket) => {
      const handlers = this.#handlers.get(socket.localPort ?? 0);
      if (handlers === undefined) socket.destroy();
      else handlers.secured(socket);
    });
    this.#tls.on('tlsClientError', (err, socket) => {
      config.logger.debug('kubelet: TLS handshake failed', { err });
      socket.destroy();
    });
  }

  /** The address of the ports; undefined: all addresses. */
  get host(): string | undefined {
    return this.#config.host;
  }

  /**
   * Replaces the certificate; open connections keep the previous one. Throws if key and certificate
   * do not match.
   */
  setServingCertificate({ key, cert }: ServingPair): void {
    const settings = { ...this.#settings, key, cert };
    this.#tls.setSecureContext(secureContext(settings));
    this.#settings = settings;
    this.#withdrawn = false;
  }

  /**
   * Trusts another authority of clients, in PEM, on connections that are opened from now on. Throws
   * for an invalid certificate.
   */
  setClientAuthority(clientCA: string): void {
    const settings = { ...this.#settings, clientCA };
    this.#tls.setSecureContext(secureContext(settings));
    this.#settings = settings;
  }

  /** Makes handshakes fail until another certificate is set. */
  #withdrawCertificate(): void {
    const { key: _, cert: __, ...others } = this.#settings;
    this.#tls.setSecureContext(secureContext(others));
    this.#settings = others;
    this.#withdrawn = true;
    this.#config.logger.warn('kubelet: no serving certificate available for the kubelet');
  }

  /**
   * Opens a port; 0 is any free one. `orFree`: if the port is taken, a free one is opened instead.
   * Rejects with the system's error.
   */
  async open(port: number, handlers: PortHandlers, orFree = false): Promise<OpenPort> {
    const server = await this.#listen(port).catch((error: NodeJS.ErrnoException) => {
      if (!orFree || port === 0 || error.code !== 'EADDRINUSE') throw error;
      return this.#listen(0);
    });
    const { port: opened } = server.address() as AddressInfo;
    this.#handlers.set(opened, handlers);
    return {
      port: opened,
      close: () => {
        this.#handlers.delete(opened);
        return new Promise((resolve) => server.close(() => resolve()));
      },
    };
  }

  #listen(port: number): Promise<Server> {
    const server = createServer((socket) => this.#accept(socket));
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, this.#config.host, () => {
        server.removeListener('error', reject);
        server.on('error', (err) =>
          this.#config.logger.warn('kubelet: accepting connections failed', { err }),
        );
        resolve(server);
      });
    });
  }

  #accept(socket: Socket): void {
    // The TLS socket handles errors later; until then a reset needs a listener.
    socket.on('error', (err) => this.#config.logger.debug('kubelet: connection failed', { err }));
    if (this.#config.thisMachineOnly === true && !isOwnAddress(socket.remoteAddress)) {
      socket.destroy();
      return;
    }
    const handlers = this.#handlers.get(socket.localPort ?? 0);
    if (handlers === undefined) {
      socket.destroy();
      return;
    }
    handlers.accepted(socket);
    if (!this.#withdrawn && this.#config.isCertificateUsable?.() === false)
      this.#withdrawCertificate();
    this.#tls.emit('connection', socket);
  }
}

function secureContext({
  key,
  cert,
  clientCA,
  minVersion,
  ciphers,
  curves,
}: ListenerTls): SecureContextOptions {
  return {
    ...(key !== undefined && { key }),
    ...(cert !== undefined && { cert }),
    ca: clientCA,
    ...TLS_SERVER_OPTIONS,
    ...(minVersion !== undefined && { minVersion }),
    ...(ciphers !== undefined && { ciphers }),
    ...(curves !== undefined && { ecdhCurve: curves }),
  };
}

/**
 * Reports whether the address belongs to this machine, loopback included. The kernel drops packets
 * that forge such a source.
 */
export function isOwnAddress(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  if (plain.startsWith('127.')) return true;
  return Object.values(networkInterfaces()).some((list) =>
    (list ?? []).some((own) => own.address === plain),
  );
}
