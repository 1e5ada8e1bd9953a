// The ingress of a cluster in one process: grants its permissions, and runs until the cluster stops.

import { onAbort } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { IpRange } from '#machinery/net/ip.ts';
import type { Random } from '#machinery/random.ts';
import {
  type Facts,
  grantIngressPermissions,
  INGRESS_USER,
  IngressController,
  IngressMetrics,
  NodeProxy,
} from '#ingress/index.ts';
import type { User } from '../components/index.ts';

/** Settings of the ingress that the composition decides. */
export interface IngressSettings {
  readonly facts: Omit<Facts, 'unavailable'>;
  readonly trustedProxies: readonly IpRange[];
  readonly accessLog: boolean;
}

export interface ClusterIngressConfig {
  readonly settings: IngressSettings;
  /** The administrator's client, to grant permissions. */
  readonly client: Client;
  readonly clientOf: (user: User) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class ClusterIngress {
  readonly #config: ClusterIngressConfig;
  readonly #metrics = new IngressMetrics();
  #started!: () => void;
  /** Resolves when the first configuration is served, or none can be. */
  readonly started: Promise<void> = new Promise((resolve) => (this.#started = resolve));

  constructor(config: ClusterIngressConfig) {
    this.#config = config;
  }

  metrics(): string {
    return this.#metrics.text();
  }

  /** Runs until the signal aborts. Rejects if it fails; the cluster works without it. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, client, clientOf, clock, random, logger } = this.#config;
    const metrics = this.#metrics;
    const stopWaiting = onAbort(signal, () => this.#started());
    try {
      await grantIngressPermissions(client);
      const controller = new IngressController({
        client: clientOf({ name: INGRESS_USER, groups: [] }),
        proxy: new NodeProxy({
          clock,
          random,
          logger,
          metrics,
          trustedProxies: settings.trustedProxies,
          accessLog: settings.accessLog,
        }),
        clock,
        random,
        logger,
        facts: settings.facts,
      });
      await controller.run(signal, () => {
        for (const problem of controller.unavailable.values())
          logger.warn('ingress cannot listen', { problem });
        this.#started();
      });
    } catch (error) {
      if (signal.aborted) return;
      logger.error('ingress failed', { reason: errorMessage(error) });
      throw error;
    } finally {
      stopWaiting();
      this.#started();
    }
  }
}
