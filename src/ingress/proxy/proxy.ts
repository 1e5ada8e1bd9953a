// The reverse proxy: starts, updates and stops its servers by the configuration.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { contains, type IpRange, parseIp } from '#machinery/net/ip.ts';
import type { Random } from '#machinery/random.ts';
import { type Configuration, serverKey, type ServerSpec } from '../model.ts';
import { Http1Client } from './back-http1.ts';
import { Http2Client } from './back-http2.ts';
import { Balancer } from './balancer.ts';
import type { ExchangeServices } from './exchange.ts';
import type { IngressMetrics } from './metrics.ts';
import { PortServer } from './port-server.ts';

/**
 * The interface of the proxy for the controller: the only way in which the ingress touches the
 * system.
 */
export interface Proxy {
  /**
   * Serves the configuration from now on. Connections stay open; those of removed servers until
   * their requests have ended.
   *
   * @returns the reasons why servers cannot listen, by serverKey
   */
  apply(configuration: Configuration): Promise<ReadonlyMap<string, string>>;
  /** Drains and closes every server. */
  stop(): Promise<void>;
}

export interface ProxyConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: IngressMetrics;
  /** Trusted proxies in front of this one, whose X-Forwarded headers are kept. Default: none. */
  readonly trustedProxies?: readonly IpRange[];
  /** The limit in bytes. Default: no limit. */
  readonly maxRequestBody?: number;
  /** Logs every request. Default: false. */
  readonly accessLog?: boolean;
  /** How long requests may continue when a server stops, in milliseconds. Default: 5 seconds. */
  readonly drainMs?: number;
}

interface Running {
  readonly server: PortServer;
  readonly tls: boolean;
  readonly port: number;
}

export class NodeProxy implements Proxy {
  readonly #config: ProxyConfig;
  readonly #services: ExchangeServices;
  readonly #running = new Map<string, Running>();
  readonly #draining = new Set<Promise<void>>();
  #stopped = false;

  constructor(config: ProxyConfig) {
    this.#config = config;
    const {
      clock,
      random,
      metrics,
      logger,
      trustedProxies = [],
      maxRequestBody,
      accessLog = false,
    } = config;
    this.#services = {
      clients: { http: new Http1Client(clock), h2c: new Http2Client(clock) },
      balancer: new Balancer(),
      clock,
      random,
      metrics,
      trusts: (text) => {
        if (trustedProxies.length === 0) return false;
        const address = parseIp(text);
        return address !== undefined && trustedProxies.some((range) => contains(range, address));
      },
      maxRequestBody,
      log: accessLog ? (entry) => logger.info('request', { ...entry }) : undefined,
    };
  }

  /**
   * Returns the port of a server that was configured with port 0; undefined if it does not listen.
   */
  portOf(address: string, port: number): number | undefined {
    return this.#running.get(serverKey(address, port))?.port;
  }

  async apply({ servers }: Configuration): Promise<ReadonlyMap<string, string>> {
    const failures = new Map<string, string>();
    const wanted = new Map(servers.map((spec) => [serverKey(spec.address, spec.port), spec]));
    for (const [key, { server, tls }] of this.#running) {
      if (wanted.get(key)?.tls === tls) continue;
      this.#running.delete(key);
      this.#drain(server);
    }
    for (const [key, spec] of wanted) {
      if (this.#stopped) break;
      const running = this.#running.get(key);
      if (running !== undefined) running.server.update(spec);
      else await this.#open(key, spec, failures);
    }
    this.#config.metrics.configured();
    return failures;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { server } of this.#running.values()) this.#drain(server);
    this.#running.clear();
    await Promise.all(this.#draining);
    for (const client of Object.values(this.#services.clients)) client.close();
  }

  async #open(key: string, spec: ServerSpec, failures: Map<string, string>): Promise<void> {
    const server = new PortServer(spec, this.#services, this.#config.logger);
    try {
      const port = await server.listen(spec.address, spec.port);
      this.#running.set(key, { server, tls: spec.tls, port });
    } catch (error) {
      failures.set(key, listenProblem(error, spec));
    }
  }

  #drain(server: PortServer): void {
    const draining = server
      .drain(this.#config.drainMs ?? 5000)
      .finally(() => this.#draining.delete(draining));
    this.#draining.add(draining);
  }
}

function listenProblem(err: unknown, { address, port }: ServerSpec): string {
  switch ((err as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `port ${port} of ${address} is in use by another program`;
    case 'EACCES':
      return `port ${port} cannot be had without root`;
    case 'EADDRNOTAVAIL':
      return `${address} is no address of this machine`;
    default:
      return `port ${port} of ${address}: ${errorMessage(err)}`;
  }
}
