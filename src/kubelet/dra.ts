// Composes dynamic resource allocation on the node: the manager of claims and the drivers.

import { join } from 'node:path';
import { nodes } from '#api/groups/core/v1/index.ts';
import { resourceClaims, resourceSlices } from '#api/groups/resource/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { type CheckpointFile, DurableCheckpointFile } from './checkpoints/checkpoint-file.ts';
import { DRA_CHECKPOINT } from './dra/checkpoint.ts';
import { ClaimCache } from './dra/claim-cache.ts';
import { DraManager, type DraMetrics } from './dra/dra-manager.ts';
import { draDriverAt } from './dra/driver.ts';
import { DraDrivers } from './dra/drivers.ts';
import { DRA_HEALTH_FILE, HealthCache } from './dra/health-cache.ts';

const RECONCILE_MS = 60_000;

export interface DraConfig {
  readonly config: {
    readonly client: Client;
    readonly clock: Clock;
    readonly random: Random;
    readonly nodeName: string;
  };
  readonly metrics: DraMetrics;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface Dra {
  readonly manager: DraManager;
  /** Undefined on a simulated node. */
  readonly drivers: DraDrivers | undefined;
  /**
   * Reads the claims of the last run. `active`: returns the UIDs of pods that may use claims, once
   * they are known. `onHealth`: called with pods whose devices have another health. Rejects if the
   * checkpoint is damaged: prepared claims would be lost.
   */
  start(
    active: () => ReadonlySet<string> | undefined,
    onHealth: (podUids: ReadonlySet<string>) => void,
  ): Promise<void>;
}

export function makeDra(
  { config, metrics, logger, signal }: DraConfig,
  { hostFiles, rootDir }: { readonly hostFiles: boolean; readonly rootDir: string },
): Dra {
  const { client, clock, random, nodeName } = config;
  const fileNamed = (name: string): CheckpointFile =>
    hostFiles ? new DurableCheckpointFile(join(rootDir, name)) : noFile;
  const cache = new ClaimCache(fileNamed(DRA_CHECKPOINT));
  const health = new HealthCache({ file: fileNamed(DRA_HEALTH_FILE), clock, logger });
  let healthChanged: (podUids: ReadonlySet<string>) => void = () => undefined;
  const drivers = hostFiles
    ? new DraDrivers({
        clock,
        random,
        logger,
        open: (path, service) => draDriverAt(path, service, clock),
        async deleteSlices(driver) {
          // Slices may be deleted as soon as the Node is there.
          await client.resource(nodes).get(nodeName, { signal });
          const ofDriver = driver === undefined ? '' : `,spec.driver=${driver}`;
          await client
            .resource(resourceSlices)
            .deleteCollection({ fieldSelector: `spec.nodeName=${nodeName}${ofDriver}`, signal });
        },
        onHealth: (driver, reports) => {
          const pods = manager.healthReported(driver, reports);
          if (pods.size > 0) healthChanged(pods);
        },
        signal,
      })
    : undefined;
  const manager = new DraManager({
    clock,
    logger,
    metrics,
    cache,
    health,
    claim: (namespace, name) =>
      client.resource(resourceClaims).namespace(namespace).get(name, { signal }),
    ...(drivers !== undefined && { drivers }),
  });
  return {
    manager,
    drivers,
    async start(active, onHealth) {
      healthChanged = onHealth;
      if (drivers === undefined) return;
      await cache.restore();
      await health.restore();
      const inBackground = (work: Promise<void>): void => {
        work.catch((error: unknown) => {
          if (!signal.aborted) logger.error('DRA manager failed', { err: error });
        });
      };
      inBackground(drivers.start());
      const timer: Timer = clock.setInterval(RECONCILE_MS, () => {
        const pods = active();
        if (pods !== undefined) inBackground(manager.reconcile(pods, signal));
      });
      signal.addEventListener('abort', () => timer.cancel(), { once: true });
    },
  };
}

/** On simulated nodes nothing outlives the kubelet. */
const noFile: CheckpointFile = {
  read: () => Promise.resolve(undefined),
  write: () => Promise.resolve(),
};
