// The DNS component: watches the cluster's objects and its configuration, listens, and answers.

import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { defaultConfiguration } from '../config/config-map.ts';
import { followConfigMap } from '../config/follow-config-map.ts';
import type { FollowedCorefile } from '../config/corefile/follow.ts';
import type { DnsConfiguration } from '../configuration.ts';
import { Forwarder } from '../forward/forwarder.ts';
import { serversIn } from '../forward/resolv-conf.ts';
import { DnsMetrics, type Protocol } from '../metrics.ts';
import { ClusterZone } from '../records/cluster-zone.ts';
import { followRecords, type RecordFollower } from '../records/follow-records.ts';
import { RecordIndex } from '../records/record-index.ts';
import type {
  DnsSockets,
  HttpPage,
  SocketAddress,
  TcpConnection,
  TcpListener,
  UdpListener,
} from '../system/sockets.ts';
import { parseName, type Labels } from '../wire/names.ts';
import { Answerer } from './answerer.ts';
import { AllowedClients } from './clients.ts';
import { makeRoutes, type Routes } from './routes.ts';
import { TcpSession } from './tcp-session.ts';

export interface DnsServerConfig {
  /**
   * Needs list and watch rights for Services, EndpointSlices, Namespaces, and without a Corefile for
   * the ConfigMap. Absent: a server of a Corefile that has no cluster.
   */
  readonly client: Client | undefined;
  readonly sockets: DnsSockets;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Default: 'cluster.local'. A Corefile has its own. */
  readonly clusterDomain?: string;
  /** Absent: the ConfigMap `cluster-dns` is the configuration. */
  readonly corefile?: FollowedCorefile;
  /** Called with the line of each query whose server block logs queries. */
  readonly onQueryLine?: (line: string) => void;
  /**
   * The addresses to listen at, over UDP and TCP. Port 0: a free port, the same for both. Empty:
   * none, so that only `ask` works.
   */
  readonly listen: readonly SocketAddress[];
  /** The address ranges of allowed clients. Other queries are dropped. */
  readonly allowedClients: readonly string[];
  /** The addresses that serve metrics over HTTP. Default: none. */
  readonly metricsListen?: readonly SocketAddress[];
  /** The addresses that serve /health: the server runs. Default: none. */
  readonly healthListen?: readonly SocketAddress[];
  /** The addresses that serve /ready: the records are complete. Default: none. */
  readonly readyListen?: readonly SocketAddress[];
  /**
   * The metrics. A server that replaces another one continues its metrics. Default: new metrics.
   */
  readonly metrics?: DnsMetrics;
}

export const DNS_SERVICE = { namespace: 'kube-system', name: 'kube-dns' } as const;
export const DEFAULT_CLUSTER_DOMAIN = 'cluster.local';

/** The maximum number of TCP clients, over all addresses, and per address. */
const MAX_TCP_CLIENTS = 1000;
const MAX_TCP_PER_CLIENT = 100;
/**
 * The maximum number of UDP queries that wait for upstream servers. Further ones are dropped:
 * clients retry.
 */
const MAX_WAITING = 2000;
/** A listener on any free UDP port needs the same port for TCP. */
const PORT_TRIES = 10;

/** Parses a domain. Throws RangeError for an invalid one. */
export function parseClusterDomain(text: string): Labels {
  const labels = parseName(text);
  if (labels === undefined || labels.length === 0)
    throw new RangeError(`${JSON.stringify(text)} is not a DNS domain`);
  return labels;
}

export class DnsServer {
  readonly #config: DnsServerConfig;
  readonly #domain: Labels;
  readonly #allowed: AllowedClients;
  readonly #abort = new AbortController();
  readonly #index: RecordIndex;
  /** Absent: there is no cluster. */
  readonly #follower: RecordFollower | undefined;
  readonly #informers: SharedInformerFactory | undefined;
  readonly #answerer: Answerer;
  readonly #udp: UdpListener[] = [];
  readonly #tcp: TcpListener[] = [];
  readonly #addresses: SocketAddress[] = [];
  readonly #metricsAddresses: SocketAddress[] = [];
  /** By client address: the number of open connections. */
  readonly #tcpClients = new Map<string, number>();
  #tcpCount = 0;
  #waiting = 0;
  #serial: number;
  #routes: Routes;
  #running: Promise<unknown> | undefined;
  #stopping: Promise<void> | undefined;
  readonly metrics: DnsMetrics;

  constructor(config: DnsServerConfig) {
    this.#config = config;
    const { client, clock, random, logger, metrics, onQueryLine = () => undefined } = config;
    this.metrics = metrics ?? new DnsMetrics();
    this.#domain = parseClusterDomain(config.clusterDomain ?? DEFAULT_CLUSTER_DOMAIN);
    this.#allowed = new AllowedClients(config.allowedClients);
    this.#serial = seconds(clock);
    this.#index = new RecordIndex(() => {
      this.#serial = seconds(clock);
      this.#answerer.recordsChanged();
    });
    this.#follower = client && followRecords({ client, clock, random, logger, index: this.#index });
    this.#informers = client && new SharedInformerFactory({ client, clock, random, logger });
    this.#routes = this.#routesFor({ blocks: [] }, []);
    const synced = (): boolean => this.hasSynced();
    const shared = { clock, random, logger, metrics: this.metrics };
    this.#answerer = new Answerer({ ...shared, synced, onQueryLine }, this.#routes);
    this.metrics.setGauges(() => ({ cache: cacheSizes(this.#routes) }));
  }

  /** The addresses that the server listens at, with the chosen ports. */
  get addresses(): readonly SocketAddress[] {
    return this.#addresses;
  }

  /** The addresses that serve metrics. */
  get metricsAddresses(): readonly SocketAddress[] {
    return this.#metricsAddresses;
  }

  hasSynced(): boolean {
    return this.#follower?.hasSynced() ?? true;
  }

  /** Resolves when the cluster's records are complete; rejects with the signal's reason. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    await this.#follower?.waitForSync(signal);
  }

  /**
   * Starts the server; may be called once. It listens first: clients get SERVFAIL until the records
   * have synced, and retry. Rejects if an address cannot be used.
   */
  async start(): Promise<void> {
    const { listen, metricsListen = [], healthListen = [], readyListen = [] } = this.#config;
    try {
      const nodeServers = await this.#nodeServers();
      this.#use(
        this.#config.corefile?.corefile.configuration ?? defaultConfiguration(this.#domain),
        nodeServers,
      );
      for (const at of listen) await this.#listen(at);
      for (const at of metricsListen)
        this.#metricsAddresses.push(await this.#serve(at, '/metrics', () => this.#metricsPage()));
      for (const at of healthListen) await this.#serve(at, '/health', () => plainPage(200, 'OK'));
      for (const at of readyListen) await this.#serve(at, '/ready', () => this.#readyPage());
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#followConfiguration();
    this.#informers?.start(this.#abort.signal);
    this.#running = Promise.all([
      this.#follower?.run(this.#abort.signal),
      this.#informers?.stopped(),
    ]);
  }

  #followConfiguration(): void {
    const { logger, corefile } = this.#config;
    const use = (configuration: DnsConfiguration): void => void this.#reload(configuration);
    const onInvalid = (): void => this.metrics.reloadFailed();
    if (corefile !== undefined) corefile.follow(use, onInvalid);
    else if (this.#informers !== undefined)
      followConfigMap({
        informers: this.#informers,
        domain: this.#domain,
        logger,
        use,
        onInvalid,
      });
  }

  /** Stops the server. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#abort.abort(new Error('the DNS server stops'));
    this.#config.corefile?.stop();
    this.#close(this.#routes);
    await Promise.all([...this.#udp, ...this.#tcp].map((listener) => listener.close()));
    await this.#running;
  }

  /** Returns the answer to a message, by default in the form for TCP clients. */
  async ask(message: Buffer, proto: Protocol = 'tcp'): Promise<Buffer | undefined> {
    return this.#answerer.handle(message, { proto, v6: false, client: undefined });
  }

  async #nodeServers(): Promise<readonly SocketAddress[]> {
    const { sockets, logger } = this.#config;
    try {
      return serversIn(await sockets.readResolvConf());
    } catch (error) {
      logger.warn(
        "the node's resolv.conf cannot be read: names outside of the cluster are not resolved",
        { err: error },
      );
      return [];
    }
  }

  async #reload(configuration: DnsConfiguration): Promise<void> {
    const nodeServers = await this.#nodeServers();
    if (!this.#abort.signal.aborted) this.#use(configuration, nodeServers);
  }

  #use(configuration: DnsConfiguration, nodeServers: readonly SocketAddress[]): void {
    this.#close(this.#routes);
    this.#routes = this.#routesFor(configuration, nodeServers);
    this.#answerer.setRoutes(this.#routes);
    for (const each of this.#routes.forwarders) {
      each.detectLoops().catch((error: unknown) => {
        this.#config.logger.error('loop detection failed', { reason: errorMessage(error) });
      });
    }
  }

  #routesFor(configuration: DnsConfiguration, nodeServers: readonly SocketAddress[]): Routes {
    const { sockets, clock, random, logger } = this.#config;
    return makeRoutes(configuration, {
      forwarderTo: (source) => {
        const servers = source.servers === 'node' ? nodeServers : source.servers;
        return new Forwarder({
          servers: servers.filter((server) => !this.#isOwn(server)),
          settings: source,
          sockets,
          clock,
          random,
          logger,
          metrics: this.metrics,
        });
      },
      recordsOf: ({ ttl, pods }, domain) =>
        new ClusterZone({
          index: this.#index,
          domain,
          ttl,
          pods,
          serial: () => this.#serial,
          ownService: `${DNS_SERVICE.namespace}/${DNS_SERVICE.name}`,
        }),
    });
  }

  /**
   * Reports whether the address is the server's own: a server that forwards to itself would never
   * answer.
   */
  #isOwn({ address, port }: SocketAddress): boolean {
    return this.#addresses.some((own) => own.address === address && own.port === port);
  }

  #close({ forwarders }: Routes): void {
    for (const forwarder of forwarders) forwarder.close();
  }

  async #listen(at: SocketAddress): Promise<void> {
    const { sockets } = this.#config;
    const v6 = at.address.includes(':');
    for (let attempt = 1; ; attempt++) {
      const udp: UdpListener = await sockets.listenUdp(at, (message, from) =>
        this.#received(udp, message, from, v6),
      );
      try {
        const tcp = await sockets.listenTcp({ address: at.address, port: udp.port }, (connection) =>
          this.#accept(connection, v6),
        );
        this.#udp.push(udp);
        this.#tcp.push(tcp);
        this.#addresses.push({ address: at.address, port: udp.port });
        return;
      } catch (error) {
        await udp.close();
        // The free UDP port may be taken for TCP.
        if (
          at.port !== 0 ||
          attempt === PORT_TRIES ||
          (error as NodeJS.ErrnoException).code !== 'EADDRINUSE'
        )
          throw error;
      }
    }
  }

  /** Serves one page over HTTP, and returns its address. */
  async #serve(at: SocketAddress, path: string, page: () => HttpPage): Promise<SocketAddress> {
    const listener = await this.#config.sockets.serveHttp(
      at,
      (requested) => (requested === path ? page() : undefined),
      (address) => this.#allowed.has(address),
    );
    this.#tcp.push(listener);
    return { address: at.address, port: listener.port };
  }

  #metricsPage(): HttpPage {
    return {
      status: 200,
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      text: this.metrics.text(),
    };
  }

  #readyPage(): HttpPage {
    return this.hasSynced() ? plainPage(200, 'OK') : plainPage(503, 'kubernetes');
  }

  #received(listener: UdpListener, message: Buffer, from: SocketAddress, v6: boolean): void {
    if (!this.#allowed.has(from.address)) return this.metrics.dropped('client');
    const answered = this.#answerer.handle(message, { proto: 'udp', v6, client: from });
    if (answered === undefined) return;
    if (Buffer.isBuffer(answered)) return listener.send(answered, from);
    if (this.#waiting >= MAX_WAITING) return this.metrics.dropped('overload');
    this.#waiting++;
    void answered.then((bytes) => {
      this.#waiting--;
      if (bytes !== undefined) listener.send(bytes, from);
    });
  }

  #accept(connection: TcpConnection, v6: boolean): void {
    const { address } = connection.remote;
    const ofClient = this.#tcpClients.get(address) ?? 0;
    if (
      !this.#allowed.has(address) ||
      ofClient >= MAX_TCP_PER_CLIENT ||
      this.#tcpCount >= MAX_TCP_CLIENTS
    ) {
      this.metrics.dropped(this.#allowed.has(address) ? 'overload' : 'client');
      connection.destroy();
      return;
    }
    this.#tcpCount++;
    this.#tcpClients.set(address, ofClient + 1);
    void new TcpSession({
      connection,
      clock: this.#config.clock,
      handle: (message) =>
        this.#answerer.handle(message, { proto: 'tcp', v6, client: connection.remote }),
      onClose: () => {
        this.#tcpCount--;
        const left = (this.#tcpClients.get(address) ?? 1) - 1;
        if (left === 0) this.#tcpClients.delete(address);
        else this.#tcpClients.set(address, left);
      },
    });
  }
}

const plainPage = (status: number, text: string): HttpPage => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  text,
});

function cacheSizes({ forwarders }: Routes): Forwarder['cacheSizes'] {
  let sizes = { success: 0, denial: 0 };
  for (const { cacheSizes: each } of forwarders)
    sizes = { success: sizes.success + each.success, denial: sizes.denial + each.denial };
  return sizes;
}

const seconds = (clock: Clock): number => Math.floor(clock.now() / 1000) >>> 0;
