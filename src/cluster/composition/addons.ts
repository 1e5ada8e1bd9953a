// The parts without which a cluster in one process goes on: DNS, ingress and the reference CSI
// driver. The failure of one is logged, and with `faults` it is restarted.

import type { Client } from '#client/client.ts';
import type { DnsServer } from '#dns/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { ClusterDns } from '../addons/dns.ts';
import { ClusterIngress } from '../addons/ingress.ts';
import type { User } from '../components/index.ts';
import { ClusterCsi } from '../addons/csi.ts';
import { keepRunning } from '../faults/index.ts';

type Config = Pick<
  ClusterConfig,
  'clock' | 'random' | 'logger' | 'faults' | 'dns' | 'ingress' | 'csi'
>;

interface Clients {
  /** The administrator's, to grant permissions. */
  readonly client: Client;
  readonly clientOf: (user: User) => Client;
}

interface Addon {
  run(until: AbortSignal): Promise<void>;
}

const DNS = 'dns';
const INGRESS = 'ingress';
const CSI = 'csi-driver';

export class ClusterAddons {
  readonly #config: Config;
  readonly #dns: ClusterDns | undefined;
  readonly #ingress: ClusterIngress | undefined;
  readonly #csi: ClusterCsi | undefined;
  #running: readonly Promise<void>[] = [];

  constructor(config: Config, clients: Clients) {
    this.#config = config;
    const { dns, ingress, csi } = config;
    if (dns !== undefined)
      this.#dns = new ClusterDns({ settings: dns, ...clients, ...this.#servicesOf(DNS) });
    if (ingress !== undefined) {
      this.#ingress = new ClusterIngress({
        settings: ingress,
        ...clients,
        ...this.#servicesOf(INGRESS),
      });
    }
    if (csi !== undefined)
      this.#csi = new ClusterCsi({ settings: csi, ...clients, ...this.#servicesOf(CSI) });
  }

  /** The DNS server of this cluster, while it runs. */
  get dns(): DnsServer | undefined {
    return this.#dns?.server;
  }

  /** Once. Runs them until the signal aborts. Resolves when DNS and ingress serve, or cannot. */
  async start(signal: AbortSignal): Promise<void> {
    this.#running = [
      this.#keep(DNS, this.#dns, signal),
      this.#keep(INGRESS, this.#ingress, signal),
      this.#keep(CSI, this.#csi, signal),
    ];
    await Promise.all([this.#dns?.started, this.#ingress?.started]);
  }

  /** After the signal of start() has aborted: resolves when all have ended, with how they did. */
  ended(): Promise<PromiseSettledResult<void>[]> {
    return Promise.allSettled(this.#running);
  }

  metrics(): string {
    return (this.#dns?.metrics() ?? '') + (this.#ingress?.metrics() ?? '');
  }

  #servicesOf(name: string): {
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
  } {
    const { clock, random, logger, faults } = this.#config;
    return {
      clock: faults?.clockOf(name, clock) ?? clock,
      random: random.derive(name),
      logger: logger.with({ component: name }),
    };
  }

  async #keep(name: string, addon: Addon | undefined, signal: AbortSignal): Promise<void> {
    if (addon === undefined) return;
    const { clock, logger, faults } = this.#config;
    const run = (until: AbortSignal): Promise<void> => addon.run(until);
    // Each logs why it fails.
    if (faults === undefined) await run(signal).catch(() => undefined);
    else await keepRunning({ name, folder: name, clock, logger, faults, run }, signal);
  }
}
