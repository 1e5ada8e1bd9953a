// Runs the reference CSI driver for one node, with the controllers that provision, attach and expand
// its volumes.

import { join } from 'node:path';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import {
  CsiAttacher,
  CsiCapacity,
  type CsiControllerConfig,
  csiControllerService,
  CsiModifier,
  CsiProvisioner,
  CsiResizer,
  CsiSnapshotter,
  GroupSnapshotter,
  volumeGroupSnapshotClasses,
  volumeSnapshotClasses,
} from '#controllers/csi/index.ts';
import type { Controller } from '#controllers/controller.ts';
import { CsiDriver, DEFAULT_NAME, systemHost } from '#csi-driver/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { KUBERNETES_VERSION } from '../version.ts';
import { publishCsiObjects } from './csi-objects.ts';

/** How often to look for the API of snapshots until it is there. */
const SNAPSHOT_CHECK_MS = 30_000;

export interface CsiDriverConfig {
  /** The client of the controllers. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nodeName: string;
  /** The root directory of the node's kubelet. */
  readonly kubeletDir: string;
  /** The directory of volumes and snapshots. */
  readonly directory: string;
  /** The number of volumes that the node can have; 0 for any. Default: 0. */
  readonly maxVolumes?: number;
  /** Called when the driver serves. */
  readonly onStarted?: () => void;
}

/**
 * Runs until the signal aborts; volumes stay mounted. Rejects if a socket cannot be opened or the
 * objects of the driver cannot be created.
 */
export async function runCsiDriver(config: CsiDriverConfig, signal: AbortSignal): Promise<void> {
  const { client, clock, random, logger, nodeName, kubeletDir } = config;
  const endpoint = join(kubeletDir, 'plugins', DEFAULT_NAME, 'csi.sock');
  await publishCsiObjects(client, DEFAULT_NAME);
  const driver = await CsiDriver.start(
    {
      name: DEFAULT_NAME,
      version: KUBERNETES_VERSION.gitVersion,
      nodeName,
      directory: config.directory,
      maxVolumes: config.maxVolumes ?? 0,
      host: systemHost,
      clock,
      logger,
    },
    {
      endpoint,
      registration: join(kubeletDir, 'plugins_registry', `${DEFAULT_NAME}-reg.sock`),
    },
  );
  const service = csiControllerService(endpoint, clock, signal);
  const informers = new SharedInformerFactory({ client, clock, random, logger });
  const settings = {
    client,
    clock,
    random,
    logger,
    informers,
    driver: DEFAULT_NAME,
    service,
    nodeName,
  };
  const controllers = [
    new CsiProvisioner(settings),
    new CsiAttacher(settings),
    new CsiResizer(settings),
    new CsiModifier(settings),
    new CsiCapacity(settings),
  ];
  try {
    informers.start(signal);
    config.onStarted?.();
    await Promise.all([
      ...controllers.map((controller) => controller.run(signal)),
      runWhenServed(settings, [volumeSnapshotClasses], (own) => new CsiSnapshotter(own), signal),
      runWhenServed(
        settings,
        [volumeSnapshotClasses, volumeGroupSnapshotClasses],
        (own) => new GroupSnapshotter(own),
        signal,
      ),
    ]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    service.close();
    driver.stop();
  }
}

/** Waits until the APIs are served, and then runs the controller of their objects. */
async function runWhenServed(
  settings: Omit<CsiControllerConfig, 'informers'>,
  apis: readonly ResourceType<KubeObject>[],
  make: (config: CsiControllerConfig) => Controller,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, random, logger } = settings;
  for (const api of apis) {
    while (!(await isServed(client, api, logger, signal))) {
      await clock.sleep(SNAPSHOT_CHECK_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
    }
  }
  const informers = new SharedInformerFactory({ client, clock, random, logger });
  const controller = make({ ...settings, informers });
  informers.start(signal);
  await controller.run(signal);
}

async function isServed(
  client: Client,
  api: ResourceType<KubeObject>,
  logger: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await client.resource(api).list({ limit: 1, signal });
    return true;
  } catch (error) {
    logger.debug('CSI driver: API of snapshots not served', { resource: api.resource, err: error });
    return false;
  }
}
