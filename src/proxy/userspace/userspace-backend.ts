// The proxy without support of the kernel: it listens at node ports, and at cluster IPs if it can
// add them to the machine. Endpoints see the proxy's address instead of the client's.

import type { Clock, Timer } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { Backend, RulesUpdate, ServiceRules } from '../model.ts';
import type { Addresses } from './addresses.ts';
import { Balancer } from './balancer.ts';
import { type Frontend, frontendId, frontendsOf } from './frontends.ts';
import type { Listener } from './listener.ts';
import { listenTcp } from './tcp.ts';
import { listenUdp } from './udp.ts';

export interface UserspaceBackendConfig {
  /** Returns the addresses that serve node ports; called at each complete update. */
  readonly nodePortIPs: () => readonly string[];
  /** Returns the addresses of this machine. */
  readonly machineAddresses: () => readonly string[];
  /**
   * Adds addresses of services to the machine. Undefined: it cannot, so cluster IPs do not work.
   */
  readonly addresses: Addresses | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Open {
  readonly frontend: Frontend;
  readonly listener: Listener;
}

/**
 * The maximum number of ports: each takes a file descriptor, and clusters that need this proxy have
 * few services.
 */
const MAX_FRONTENDS = 5000;

/** The period of reading the machine's addresses while services have addresses that it may get. */
const LOOK_MS = 2000;

export class UserspaceBackend implements Backend {
  readonly name = 'userspace';
  readonly #config: UserspaceBackendConfig;
  readonly #balancer: Balancer;
  readonly #open = new Map<string, Open>();
  /** Frontends by service. */
  readonly #frontends = new Map<string, readonly Frontend[]>();
  readonly #reported = new Set<string>();
  #own: ReadonlySet<string> = new Set();
  #nodePortIPs: readonly string[] = [];
  /**
   * Services with load balancer or external addresses: they are served as soon as the machine has
   * the address.
   */
  readonly #external = new Map<string, ServiceRules>();
  #applying: Promise<void> = Promise.resolve();
  #look: Timer | undefined;
  #closed = false;

  constructor(config: UserspaceBackendConfig) {
    this.#config = config;
    this.#balancer = new Balancer({
      clock: config.clock,
      random: config.random,
      isOwn: (client) => this.#own.has(client),
    });
  }

  sync(update: RulesUpdate): Promise<void> {
    const applied = this.#applying.then(() => this.#apply(update));
    this.#applying = applied.catch(() => undefined);
    return applied;
  }

  async #apply({ complete, changes }: RulesUpdate): Promise<void> {
    if (this.#closed) return;
    if (complete) {
      this.#frontends.clear();
      this.#external.clear();
      this.#nodePortIPs = this.#config.nodePortIPs();
      this.#own = new Set(this.#config.machineAddresses());
    }
    const settings = { nodePortIPs: this.#nodePortIPs, isOwn: (ip: string) => this.#own.has(ip) };
    for (const [key, rules] of changes) {
      const isExternal =
        rules?.ports.some(
          (port) => port.loadBalancerIPs.length > 0 || port.externalIPs.length > 0,
        ) === true;
      if (isExternal) this.#external.set(key, rules);
      else this.#external.delete(key);
      const frontends =
        rules === undefined
          ? []
          : frontendsOf(rules, settings).filter((frontend) => this.#isServable(frontend));
      if (frontends.length === 0) this.#frontends.delete(key);
      else this.#frontends.set(key, frontends);
    }
    const wanted = new Map<string, Frontend>();
    for (const frontend of [...this.#frontends.values()].flat().slice(0, MAX_FRONTENDS))
      wanted.set(frontendId(frontend), frontend);
    this.#balancer.keepOnly(new Set([...wanted.values()].map(({ route }) => route.id)));
    const closing: Promise<void>[] = [];
    for (const [id, { frontend, listener }] of this.#open) {
      if (wanted.has(id)) continue;
      this.#open.delete(id);
      closing.push(listener.close(false));
      this.#config.logger.debug('proxy: closed', { address: frontend.ip, port: frontend.port });
    }
    await Promise.all(closing);
    const clusterIPs = [...wanted.values()]
      .filter(({ kind }) => kind === 'cluster')
      .map(({ ip }) => ip);
    await this.#config.addresses?.keep(new Set(clusterIPs));
    for (const [id, frontend] of wanted) {
      const present = this.#open.get(id);
      if (present === undefined) await this.#listen(id, frontend);
      else present.listener.setRoute(frontend.route);
    }
    this.#lookForAddresses();
  }

  /** Checks for addresses of load balancers that the machine got after the service. */
  #lookForAddresses(): void {
    this.#look ??=
      this.#external.size === 0
        ? undefined
        : this.#config.clock.setInterval(LOOK_MS, () => this.#addressesChanged());
    if (this.#external.size > 0) return;
    this.#look?.cancel();
    this.#look = undefined;
  }

  #addressesChanged(): void {
    const own = new Set(this.#config.machineAddresses());
    if (own.size === this.#own.size && [...own].every((ip) => this.#own.has(ip))) return;
    this.#own = own;
    // `sync` logs a failure, and the next update repairs it.
    void this.sync({ complete: false, changes: new Map(this.#external) }).catch((error: unknown) =>
      this.#config.logger.warn(
        'proxy: addresses of the machine have changed, but not all could be served',
        { err: error },
      ),
    );
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#look?.cancel();
    await Promise.all([...this.#open.values()].map(({ listener }) => listener.close(true)));
    this.#open.clear();
    await this.#config.addresses?.keep(new Set());
  }

  #isServable({ kind, protocol }: Frontend): boolean {
    if (protocol === 'sctp')
      return this.#report('sctp', 'SCTP is not available: it needs nftables');
    if (kind === 'cluster' && this.#config.addresses === undefined) {
      return this.#report(
        'cluster IPs',
        'cluster IPs are not available: they need root, and nftables or iproute2. Use node ports',
      );
    }
    return true;
  }

  async #listen(id: string, frontend: Frontend): Promise<void> {
    const { ip, port, protocol, route } = frontend;
    try {
      const listener =
        protocol === 'tcp'
          ? await listenTcp(ip, port, route, this.#balancer)
          : await listenUdp(ip, port, route, this.#balancer, this.#config.clock);
      this.#open.set(id, { frontend, listener });
      this.#reported.delete(id);
    } catch (error) {
      this.#report(id, `cannot listen at ${ip} port ${protocol}/${port}: ${errorMessage(error)}`);
    }
  }

  /** Logs an unavailable feature, once. Returns false. */
  #report(id: string, message: string): false {
    if (!this.#reported.has(id)) this.#config.logger.warn(`proxy: ${message}`);
    this.#reported.add(id);
    return false;
  }
}
