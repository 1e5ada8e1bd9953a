// Nodes whose machine is only pretended.

import type { MachineInfo } from '#kubelet/node/machine.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { SimulationJournal } from '#runtime/simulated/journal.ts';
import { realistic } from '#runtime/simulated/config.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import { lazyRuntime } from './lazy-runtime.ts';
import type { ClusterNode, SimulatedNode } from './cluster-node.ts';

/** The same on every machine that simulates it, so that what is shown of a node is, too. */
export function simulatedMachine(name: string): MachineInfo {
  return {
    machineID: name,
    systemUUID: name,
    bootID: name,
    kernelVersion: 'simulated',
    osImage: 'Simulated Linux',
    operatingSystem: 'linux',
    architecture: 'amd64',
  };
}

/**
 * The node with a runtime that takes its time, as real ones do. With a journal its containers
 * survive a restart of the process.
 */
export function simulatedNode(
  { name, podCidrs }: SimulatedNode,
  {
    clock,
    random,
    journal,
  }: {
    readonly clock: Clock;
    readonly random: Random;
    readonly journal: SimulationJournal | undefined;
  },
): ClusterNode {
  const runtime = lazyRuntime('simulated', () =>
    createSimulatedRuntime({
      clock,
      random,
      podCidr: podCidrs[0],
      ...(journal !== undefined && { journal: journal.node(name) }),
      ...realistic,
    }),
  );
  return { name, runtime, simulated: true, podCidrs };
}
