// Composes the managers of CPUs, memory and topology.

import { join } from 'node:path';
import { reservedOf } from '../allocatable.ts';
import { type CheckpointFile, DurableCheckpointFile } from '../checkpoints/checkpoint-file.ts';
import type { Threshold } from '../eviction/thresholds.ts';
import { linuxTopologyFiles } from '../node/linux-topology-files.ts';
import type { MachineTopology } from '../resource-managers/machine-topology.ts';
import { makeManagers } from '../resource-managers/make-managers.ts';
import { readTopology } from '../resource-managers/read-topology.ts';
import type { ResourceManagers } from '../resource-managers/resource-managers.ts';
import { DEFAULT_RESOURCE_MANAGERS } from '../resource-managers/settings.ts';
import type { ResourceList } from '../types.ts';
import type { Base } from './base.ts';
import { noFile } from './simulated-checkpoint.ts';
import type { Settings } from './settings.ts';

/** Returns the processors and NUMA nodes; undefined for a simulated node without any. */
export async function machineTopology(
  { config }: Base,
  { hostFiles }: Settings,
  totalMemory: number,
): Promise<MachineTopology | undefined> {
  if (config.machineTopology !== undefined) return config.machineTopology;
  return hostFiles ? await readTopology(linuxTopologyFiles, totalMemory) : undefined;
}

/** Throws an error with upstream's words if the machine cannot have the settings. */
export function makeResourceManagers(
  { config, metrics, logger }: Base,
  { rootDir, hostFiles }: Settings,
  machine: MachineTopology,
  capacity: ResourceList,
  thresholds: readonly Threshold[],
): ResourceManagers {
  const { kubeReserved, systemReserved } = config;
  const fileNamed = (name: string): CheckpointFile =>
    hostFiles ? new DurableCheckpointFile(join(rootDir, name)) : noFile;
  return makeManagers({
    settings: { ...DEFAULT_RESOURCE_MANAGERS, ...config.resourceManagers },
    machine,
    reserved: reservedOf(capacity, {
      ...(kubeReserved !== undefined && { kubeReserved }),
      ...(systemReserved !== undefined && { systemReserved }),
      thresholds,
    }),
    fileNamed,
    rootDir,
    metrics: metrics.resourceManagers,
    clock: config.clock,
    logger,
  });
}
