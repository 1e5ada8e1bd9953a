// The processors and NUMA nodes of a machine.

export interface CpuInfo {
  /** The smallest id of the CPUs of the same physical core. */
  readonly core: number;
  readonly socket: number;
  readonly numa: number;
  /** The last-level cache that the CPU shares. */
  readonly uncore: number;
}

export interface CpuTopology {
  readonly cpus: ReadonlyMap<number, CpuInfo>;
  readonly cores: number;
  readonly sockets: number;
  readonly uncores: number;
}

export interface HugePages {
  /** In bytes. */
  readonly pageSize: number;
  readonly count: number;
}

export interface NumaNode {
  readonly id: number;
  /** In bytes. */
  readonly memory: number;
  readonly hugePages: readonly HugePages[];
  /** The relative distances to all nodes, in the order of their ids. */
  readonly distances: readonly number[];
}

export interface MachineTopology {
  readonly cpu: CpuTopology;
  readonly nodes: readonly NumaNode[];
}

/** Returns a topology that counts its own cores, sockets and caches. */
export function cpuTopology(cpus: ReadonlyMap<number, CpuInfo>): CpuTopology {
  const count = (level: keyof CpuInfo): number =>
    new Set([...cpus.values()].map((info) => info[level])).size;
  return { cpus, cores: count('core'), sockets: count('socket'), uncores: count('uncore') };
}

/** Returns the number of CPUs per core; as upstream, rounded down if cores differ. */
export function cpusPerCore({ cpus, cores }: CpuTopology): number {
  return cores === 0 ? 0 : Math.floor(cpus.size / cores);
}

/** Returns the NUMA nodes that have CPUs, in ascending order. */
export function numaNodesOf({ cpus }: CpuTopology): readonly number[] {
  return [...new Set([...cpus.values()].map(({ numa }) => numa))].toSorted((a, b) => a - b);
}
