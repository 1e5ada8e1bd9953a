// Topologies of machines, for tests.

import {
  type CpuInfo,
  type CpuTopology,
  cpuTopology,
  type MachineTopology,
} from '../machine-topology.ts';

export interface TopologyShape {
  readonly sockets: number;
  /** The number in each socket. */
  readonly numaNodes: number;
  /** The number in each NUMA node. */
  readonly cores: number;
  readonly threads: number;
}

/** Makes CPUs as Linux numbers them: the first threads of all cores, then the second ones. */
export function makeCpus({ sockets, numaNodes, cores, threads }: TopologyShape): CpuTopology {
  const total = sockets * numaNodes * cores;
  const cpus = new Map<number, CpuInfo>();
  for (let core = 0; core < total; core++) {
    const numa = Math.floor(core / cores);
    const socket = Math.floor(numa / numaNodes);
    for (let thread = 0; thread < threads; thread++)
      cpus.set(core + thread * total, { core, socket, numa, uncore: numa });
  }
  return cpuTopology(cpus);
}

/** Makes a machine with 8 GiB on each NUMA node. */
export function makeMachine(shape: TopologyShape): MachineTopology {
  const nodes = Array.from({ length: shape.sockets * shape.numaNodes }, (_, id) => id);
  return {
    cpu: makeCpus(shape),
    nodes: nodes.map((id) => ({
      id,
      memory: 8 * 2 ** 30,
      hugePages: [],
      distances: nodes.map((other) => (other === id ? 10 : 20)),
    })),
  };
}
