// The reference CSI driver of a cluster in one process: grants its permissions, and runs until the
// cluster stops.

import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { User } from '../components/index.ts';
import { CSI_USER, grantCsiPermissions } from '../csi/csi-objects.ts';
import { runCsiDriver } from '../csi/run-csi-driver.ts';

export interface CsiSettings {
  readonly nodeName: string;
  /** The root directory of the node's kubelet. */
  readonly kubeletDir: string;
  /** The directory of volumes and snapshots. */
  readonly directory: string;
}

export interface ClusterCsiConfig {
  readonly settings: CsiSettings;
  /** The administrator's client, to grant permissions. */
  readonly client: Client;
  readonly clientOf: (user: User) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class ClusterCsi {
  readonly #config: ClusterCsiConfig;

  constructor(config: ClusterCsiConfig) {
    this.#config = config;
  }

  /** Runs until the signal aborts. Rejects if it fails; the cluster works without it. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, client, clientOf, clock, random, logger } = this.#config;
    try {
      await grantCsiPermissions(client);
      const own = clientOf({ name: CSI_USER, groups: [] });
      await runCsiDriver({ client: own, clock, random, logger, ...settings }, signal);
    } catch (error) {
      if (signal.aborted) return;
      logger.error('CSI driver failed', { reason: errorMessage(error) });
      throw error;
    }
  }
}
