// The usage of cgroups that belong to no pod: the kubelet's own, and the one of all pods together.
// Names are upstream's.

import { readFileSync } from 'node:fs';
import type { Clock } from '#machinery/clock.ts';
import type { CgroupSystem } from '../cgroups/system.ts';
import type { ContainerUsage } from './usage.ts';
import { UsageRates } from './usage-rates.ts';

export type SystemContainerUsage = Pick<
  ContainerUsage,
  'name' | 'startedAt' | 'cpu' | 'memory' | 'swap'
>;

export interface SystemContainersConfig {
  readonly clock: Clock;
  readonly cgroups: Pick<CgroupSystem, 'read'>;
  /** The kubelet's cgroup, from the root. Absent: it is not known. */
  readonly kubelet?: string;
  /** The cgroup above those of all pods, from the root. Absent: pods have no cgroups of their own. */
  readonly pods?: string;
  /** When the kubelet started, in wall-clock milliseconds. */
  readonly startedAt: number;
}

export class SystemContainers {
  readonly #config: SystemContainersConfig;
  readonly #rates = new UsageRates();

  constructor(config: SystemContainersConfig) {
    this.#config = config;
  }

  /** Returns the usage of the cgroups that exist. */
  read(): readonly SystemContainerUsage[] {
    const { kubelet, pods, startedAt } = this.#config;
    const usages = [...this.#usage('kubelet', kubelet, startedAt), ...this.#usage('pods', pods, 0)];
    this.#rates.sweep();
    return usages;
  }

  #usage(
    name: string,
    path: string | undefined,
    startedAt: number,
  ): readonly SystemContainerUsage[] {
    const { clock, cgroups } = this.#config;
    const stats = path === undefined ? undefined : cgroups.read(path);
    if (stats === undefined) return [];
    const time = clock.now();
    const { usage, workingSet, rss, swap, pageFaults, majorPageFaults } = stats.memory;
    const coreNanoseconds = stats.cpu.usageNanoseconds;
    const nanoCores =
      coreNanoseconds === undefined ? undefined : this.#rates.rate(name, time, coreNanoseconds);
    return [
      {
        name,
        startedAt,
        cpu: {
          time,
          ...(coreNanoseconds !== undefined && { coreNanoseconds }),
          ...(nanoCores !== undefined && { nanoCores }),
        },
        memory: {
          time,
          ...(usage !== undefined && { usageBytes: usage }),
          ...(workingSet !== undefined && { workingSetBytes: workingSet }),
          ...(rss !== undefined && { rssBytes: rss }),
          ...(pageFaults !== undefined && { pageFaults }),
          ...(majorPageFaults !== undefined && { majorPageFaults }),
        },
        ...(swap !== undefined && { swap: { time, usageBytes: swap } }),
      },
    ];
  }
}

/** Returns the cgroup of this process, from the root; undefined if that is not known. */
export function ownCgroup(path = '/proc/self/cgroup'): string | undefined {
  try {
    return parseOwnCgroup(readFileSync(path, 'utf8'));
  } catch (error) {
    // Not Linux.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Parses lines 'ID:CONTROLLERS:PATH'. Version 2 has one line, without controllers. */
export function parseOwnCgroup(text: string): string | undefined {
  const lines = text.split('\n').map((line) => /^\d+:([^:]*):(\/.*)$/.exec(line));
  const ofMemory = lines.find((line) => line?.[1]?.split(',').includes('memory'));
  return (ofMemory ?? lines.find((line) => line?.[1] === ''))?.[2];
}
