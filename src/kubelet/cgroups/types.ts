// The counters of a cgroup, the same for both versions of cgroups. Absent: the kernel does not have
// the counter, or the controller is not enabled.

export interface CgroupStats {
  readonly cpu: CpuCounters;
  readonly memory: MemoryCounters;
  readonly devices: readonly DeviceCounters[];
  /** The number of processes and threads. */
  readonly pids?: number;
  /** The limit of pids; Infinity for none. */
  readonly pidsLimit?: number;
  /** The IDs of the processes. */
  readonly processes?: readonly number[];
  readonly pressure: Readonly<Partial<Record<'cpu' | 'memory' | 'io', Pressure>>>;
}

export interface CpuCounters {
  readonly usageNanoseconds?: number;
  readonly userNanoseconds?: number;
  readonly systemNanoseconds?: number;
  readonly periods?: number;
  readonly throttledPeriods?: number;
  readonly throttledNanoseconds?: number;
}

/** In bytes, except faults and events. */
export interface MemoryCounters {
  readonly usage?: number;
  readonly maxUsage?: number;
  readonly workingSet?: number;
  /** File cache. */
  readonly cache?: number;
  readonly rss?: number;
  readonly mappedFile?: number;
  readonly swap?: number;
  readonly kernel?: number;
  readonly activeFile?: number;
  readonly inactiveFile?: number;
  readonly failures?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly oomKills?: number;
}

export interface DeviceCounters {
  readonly major: number;
  readonly minor: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** The time that tasks have waited for a resource, in microseconds. */
export interface Pressure {
  /** At least one task has waited. */
  readonly someMicroseconds: number;
  /** All tasks have waited. */
  readonly fullMicroseconds: number;
}

/** The contents of a cgroup's files by name. */
export type CgroupFiles = ReadonlyMap<string, string>;
