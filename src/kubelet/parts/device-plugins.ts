// Composes device plugins.

import { join } from 'node:path';
import { DurableCheckpointFile } from '../checkpoints/checkpoint-file.ts';
import { DEVICE_CHECKPOINT } from '../devices/checkpoint.ts';
import { DeviceManager } from '../devices/device-manager.ts';
import type { RegistrationConfig } from '../devices/registration.ts';
import { devicePluginsDir } from '../paths.ts';
import type { MachineTopology } from '../resource-managers/machine-topology.ts';
import type { Base } from './base.ts';

export function makeDevicePlugins(
  { config, metrics, logger }: Base,
  rootDir: string,
  { nodes }: MachineTopology,
): RegistrationConfig {
  const { clock } = config;
  const directory = devicePluginsDir(rootDir);
  const checkpoint = new DurableCheckpointFile(join(directory, DEVICE_CHECKPOINT));
  return {
    manager: new DeviceManager({
      clock,
      logger,
      metrics,
      checkpoint,
      numaNodes: nodes.map(({ id }) => id),
    }),
    directory,
    clock,
    logger,
    onRegistration: (resource) => metrics.deviceRegistered(resource),
  };
}
