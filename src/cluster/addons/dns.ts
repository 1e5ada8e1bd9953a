// The DNS server of a cluster in one process: publishes its Service, listens, and runs until the cluster stops.

import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import {
  DNS_USERS,
  DnsMetrics,
  DnsServer,
  type DnsServiceFollower,
  type DnsSockets,
  followDnsService,
  grantDnsPermissions,
  nodeSockets,
  publishDnsEndpoint,
  publishDnsService,
  type SocketAddress,
  withdrawDnsEndpoint,
} from '#dns/index.ts';
import type { User } from '../components/index.ts';

/** The settings of the cluster's DNS. */
export interface DnsSettings {
  readonly clusterDomain: string;
  /** The cluster IP of the Service `kube-dns`. */
  readonly serviceAddress: string;
  /** Pods of this process's nodes reach the server at the cluster IP, and get it as their name server. */
  readonly reachable: boolean;
  /** More addresses to listen on, beside `nodeAddress`. */
  readonly listen: readonly SocketAddress[];
  /** The address by which other machines reach the server. Absent: it is not published. */
  readonly nodeAddress?: string;
  readonly nodeName?: string;
  readonly allowedClients: readonly string[];
  /** Default: the sockets of this machine. */
  readonly sockets?: DnsSockets;
}

export interface ClusterDnsConfig {
  readonly settings: DnsSettings;
  /** The administrator's client, to publish the Service. */
  readonly client: Client;
  readonly clientOf: (user: User) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const DNS_PORT = 53;
const METRICS_PORT = 9153;

export class ClusterDns {
  readonly #config: ClusterDnsConfig;
  readonly #metrics = new DnsMetrics();
  #server: DnsServer | undefined;
  #started!: () => void;
  /** Resolves when the server has started for the first time, or cannot. */
  readonly started: Promise<void> = new Promise((resolve) => (this.#started = resolve));

  constructor(config: ClusterDnsConfig) {
    this.#config = config;
  }

  /** undefined: it does not run. */
  get server(): DnsServer | undefined {
    return this.#server;
  }

  metrics(): string {
    return this.#metrics.text();
  }

  /**
   * Runs until the signal aborts. While the Service selects pods, they are the DNS and the server is
   * stopped. That it cannot listen is logged and ends it: the cluster works, only without DNS.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, client, logger } = this.#config;
    try {
      await grantDnsPermissions(client);
      const { serviceAddress, nodeAddress } = settings;
      await publishDnsService(client, serviceAddress, nodeAddress !== undefined);
      const service = this.#followService();
      const following = service.run(signal);
      try {
        await service.waitForSync(signal);
        while (!signal.aborted) {
          if (service.selectsPods) {
            logger.info('pods run as kube-dns, not starting the DNS server');
            this.#started();
            await service.until(false, signal);
          } else {
            await this.#serve(signal, () => service.until(true, signal));
          }
        }
      } finally {
        await following;
      }
    } catch (error) {
      if (signal.aborted) return;
      logger.error('DNS server failed', { reason: errorMessage(error) });
      throw error;
    } finally {
      this.#started();
    }
  }

  /** Runs the server until `until` resolves. */
  async #serve(signal: AbortSignal, until: () => Promise<void>): Promise<void> {
    const { server, endpoint } = await this.#start();
    this.#server = server;
    try {
      if (endpoint !== undefined)
        await this.#publish(endpoint, server.metricsAddresses.at(-1)?.port);
      await server.waitForSync(signal);
      this.#started();
      await until();
    } finally {
      this.#server = undefined;
      await server.stop();
      if (endpoint !== undefined) await this.#withdraw();
    }
  }

  #followService(): DnsServiceFollower {
    const { client, clock, random, logger } = this.#config;
    return followDnsService({ client, clock, random, logger });
  }

  async #start(): Promise<{
    readonly server: DnsServer;
    readonly endpoint: SocketAddress | undefined;
  }> {
    const { settings } = this.#config;
    const { nodeAddress, listen } = settings;
    if (nodeAddress === undefined)
      return { server: await this.#startAt(listen), endpoint: undefined };
    // The server takes the well-known ports if they are free; clients of the Service read other
    // ports from its slice.
    for (const wellKnown of [true, false]) {
      try {
        const server = await this.#startAt(
          [...listen, { address: nodeAddress, port: wellKnown ? DNS_PORT : 0 }],
          [
            ...listen.map(({ address }) => ({ address, port: METRICS_PORT })),
            { address: nodeAddress, port: wellKnown ? METRICS_PORT : 0 },
          ],
        );
        return { server, endpoint: server.addresses.at(-1) };
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (!wellKnown || (code !== 'EADDRINUSE' && code !== 'EACCES')) throw error;
      }
    }
    throw new Error('no port for DNS');
  }

  async #startAt(
    listen: readonly SocketAddress[],
    metricsListen: readonly SocketAddress[] = [],
  ): Promise<DnsServer> {
    const { settings, clientOf, clock, random, logger } = this.#config;
    const server = new DnsServer({
      client: clientOf({
        name: DNS_USERS[0],
        groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system'],
      }),
      sockets: settings.sockets ?? nodeSockets,
      clock,
      random,
      logger,
      clusterDomain: settings.clusterDomain,
      listen,
      metricsListen,
      allowedClients: settings.allowedClients,
      metrics: this.#metrics,
    });
    await server.start();
    return server;
  }

  async #publish(at: SocketAddress, metricsPort: number | undefined): Promise<void> {
    const { settings, client } = this.#config;
    const { nodeName } = settings;
    await publishDnsEndpoint(client, {
      node: nodeName ?? 'cluster',
      at,
      isNode: nodeName !== undefined,
      ...(metricsPort !== undefined && { metricsPort }),
    });
  }

  /** The next start publishes it again: that it could not be withdrawn is no failure. */
  async #withdraw(): Promise<void> {
    const { settings, client, logger } = this.#config;
    try {
      await withdrawDnsEndpoint(client, settings.nodeName ?? 'cluster');
    } catch (error) {
      logger.debug('DNS endpoint could not be withdrawn', { err: error });
    }
  }
}
