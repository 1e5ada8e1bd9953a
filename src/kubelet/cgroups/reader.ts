// Reads the cgroups of containers by the containers' IDs. The paths are searched for once, since a
// container stays in its cgroup.

import { nextTurn, runStepsInTurns } from '#machinery/turn.ts';
import { countDescriptors, type Descriptors, type ProcessFiles } from './descriptors.ts';
import type { CgroupSystem } from './system.ts';
import type { CgroupStats } from './types.ts';

export interface ContainerCgroup {
  /** From the root of the hierarchy. */
  readonly path: string;
  readonly stats: CgroupStats;
  /** Absent: the processes are not known. */
  readonly descriptors?: Descriptors;
}

/** Cgroups that are read without a pause: some milliseconds. */
const PER_TURN = 20;

export class CgroupReader {
  readonly #system: CgroupSystem;
  readonly #processes: ProcessFiles | undefined;
  #paths = new Map<string, string>();
  /** IDs that were not found. They are searched for again when there are others. */
  #missing: ReadonlySet<string> = new Set();

  constructor(system: CgroupSystem, processes?: ProcessFiles) {
    this.#system = system;
    this.#processes = processes;
  }

  /** Returns the cgroups by ID. Containers that have none, or not any more, are left out. */
  async read(ids: readonly string[]): Promise<ReadonlyMap<string, ContainerCgroup>> {
    const paths = this.#find(new Set(ids));
    const cgroups = new Map<string, ContainerCgroup>();
    let count = 0;
    for (const [id, path] of paths) {
      if (++count % PER_TURN === 0) await nextTurn();
      const stats = this.#system.read(path);
      if (stats === undefined) continue;
      const descriptors = await this.#descriptors(stats);
      cgroups.set(id, { path, stats, ...(descriptors !== undefined && { descriptors }) });
    }
    return cgroups;
  }

  async #descriptors({ processes }: CgroupStats): Promise<Descriptors | undefined> {
    if (processes === undefined || this.#processes === undefined) return undefined;
    return await runStepsInTurns(countDescriptors(processes, this.#processes));
  }

  /** Returns the names of block devices by 'MAJOR:MINOR'. */
  deviceNames(): ReadonlyMap<string, string> {
    return this.#system.deviceNames();
  }

  #find(ids: ReadonlySet<string>): ReadonlyMap<string, string> {
    const known = new Map([...this.#paths].filter(([id]) => ids.has(id)));
    const unknown = new Set([...ids].filter((id) => !known.has(id)));
    if ([...unknown].some((id) => !this.#missing.has(id))) {
      for (const [id, path] of this.#system.find(unknown)) known.set(id, path);
      this.#missing = new Set([...unknown].filter((id) => !known.has(id)));
    }
    this.#paths = known;
    return known;
  }
}
