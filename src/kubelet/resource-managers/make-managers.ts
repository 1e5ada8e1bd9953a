// Makes the managers from their settings and the topology of the machine, with upstream's errors.

import { join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { CheckpointFile } from '../checkpoints/checkpoint-file.ts';
import { amounts } from '../pod/resources.ts';
import type { ResourceList } from '../types.ts';
import { CPU_CHECKPOINT } from './cpu/checkpoint.ts';
import { CpuManager, type CpuManagerPolicy, type CpuMetrics } from './cpu/cpu-manager.ts';
import { parseCpuPolicyOptions, PolicyOptionError } from './cpu/options.ts';
import { parseCpuSet } from './cpu-set.ts';
import type { NumaInfo } from './hints/merge-hints.ts';
import { numaInfoOf, parseTopologyOptions } from './hints/options.ts';
import type { MachineTopology } from './machine-topology.ts';
import { MEMORY_CHECKPOINT } from './memory/checkpoint.ts';
import type { ReservedMemory } from './memory/machine-state.ts';
import {
  MemoryManager,
  type MemoryManagerPolicy,
  type MemoryMetrics,
} from './memory/memory-manager.ts';
import { ResourceManagers } from './resource-managers.ts';
import type { ResourceManagerSettings } from './settings.ts';
import { TopologyManager, type TopologyMetrics } from './topology-manager.ts';

export interface ManagersConfig {
  readonly settings: ResourceManagerSettings;
  readonly machine: MachineTopology;
  /** The resources that pods do not get: reservations, and amounts of hard eviction thresholds. */
  readonly reserved: ResourceList;
  /** Returns the file of this name in the root directory of the kubelet. */
  readonly fileNamed: (name: string) => CheckpointFile;
  readonly rootDir: string;
  readonly metrics?: CpuMetrics & MemoryMetrics & TopologyMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Throws an error with upstream's words if the machine cannot have the settings. */
export function makeManagers(config: ManagersConfig): ResourceManagers {
  const { settings, machine, clock, logger } = config;
  const checkpoint = (name: string): { readonly file: CheckpointFile; readonly path: string } => ({
    file: config.fileNamed(name),
    path: join(config.rootDir, name),
  });
  const metrics = config.metrics === undefined ? {} : { metrics: config.metrics };
  return new ResourceManagers({
    clock,
    logger,
    reconcileMs: settings.cpuManagerReconcileMs,
    cpu: new CpuManager({
      policy: cpuPolicy(config),
      topology: machine.cpu,
      ...checkpoint(CPU_CHECKPOINT),
      logger,
      ...metrics,
    }),
    memory: new MemoryManager({
      policy: memoryPolicy(config),
      nodes: machine.nodes,
      ...checkpoint(MEMORY_CHECKPOINT),
      logger,
      ...metrics,
    }),
    topology: new TopologyManager({
      policy: settings.topologyManagerPolicy,
      scope: settings.topologyManagerScope,
      numa: numaInfo(config),
      clock,
      ...metrics,
    }),
  });
}

function numaInfo({ settings, machine }: ManagersConfig): NumaInfo {
  if (settings.topologyManagerPolicy === 'none') return { nodes: [] };
  return numaInfoOf(machine.nodes, parseTopologyOptions(settings.topologyManagerPolicyOptions));
}

function cpuPolicy({ settings, reserved }: ManagersConfig): CpuManagerPolicy {
  if (settings.cpuManagerPolicy === 'none') return { name: 'none' };
  const milli = amounts(reserved).get('cpu') ?? 0;
  if (milli === 0) {
    throw new PolicyOptionError(
      '[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be ' +
        'greater than zero',
    );
  }
  const options = parseCpuPolicyOptions(
    settings.cpuManagerPolicyOptions,
    settings.cpuManagerAlphaOptions,
  );
  if (options.alignBySocket && settings.topologyManagerPolicy === 'single-numa-node') {
    throw new PolicyOptionError(
      'Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket ' +
        'policy option',
    );
  }
  return {
    name: 'static',
    options,
    reservedCount: Math.ceil(milli / 1000),
    reserved: parseCpuSet(settings.reservedSystemCPUs),
  };
}

function memoryPolicy({ settings, machine, reserved }: ManagersConfig): MemoryManagerPolicy {
  if (settings.memoryManagerPolicy === 'None') return { name: 'None' };
  const perNode = new Map<number, Map<string, number>>();
  const totals = new Map<string, number>();
  for (const { numaNode, limits } of settings.reservedMemory) {
    if (!machine.nodes.some(({ id }) => id === numaNode)) {
      throw new PolicyOptionError(
        `the reserved memory configuration references a NUMA node ${numaNode} that does not ` +
          'exist on this machine',
      );
    }
    const node = perNode.get(numaNode) ?? new Map<string, number>();
    perNode.set(numaNode, node);
    for (const [resource, amount] of amounts(limits)) {
      node.set(resource, (node.get(resource) ?? 0) + amount);
      totals.set(resource, (totals.get(resource) ?? 0) + amount);
    }
  }
  const expected = amounts(reserved);
  for (const resource of new Set([...totals.keys(), ...expected.keys()])) {
    if (resource !== 'memory' && !resource.startsWith('hugepages-')) continue;
    const [total, wanted] = [totals.get(resource) ?? 0, expected.get(resource) ?? 0];
    if (total === wanted) continue;
    throw new PolicyOptionError(
      `the total amount "${total}" of type "${resource}" is not equal to the value "${wanted}" ` +
        'determined by Node Allocatable feature',
    );
  }
  if ((totals.get('memory') ?? 0) <= 0)
    throw new PolicyOptionError('[memorymanager] you should specify the system reserved memory');
  const memory: ReservedMemory = perNode;
  return { name: 'Static', reserved: memory };
}
