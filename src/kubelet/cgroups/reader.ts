// Reads the cgroups of containers by the containers' IDs. The paths are searched for once, since a
// container stays in its cgroup.

import { nextTurn } from '#machinery/turn.ts';
import type { CgroupSystem } from './system.ts';
import type { CgroupStats } from './types.ts';

export interface ContainerCgroup {
  /** From the root of the hierarchy. */
  readonly path: string;
  readonly stats: CgroupStats;
}

/** Cgroups that are read without a pause: some milliseconds. */
const PER_TURN = 20;

export class CgroupReader {
  readonly #system: CgroupSystem;
  #paths = new Map<string, string>();
  /** IDs that were not found. They are searched for again when there are others. */
  #missing: ReadonlySet<string> = new Set();

  constructor(system: CgroupSystem) {
    this.#system = system;
  }

  /** Returns the cgroups by ID. Containers that have none, or not any more, are left out. */
  async read(ids: readonly string[]): Promise<ReadonlyMap<string, ContainerCgroup>> {
    const paths = this.#find(new Set(ids));
    const cgroups = new Map<string, ContainerCgroup>();
    let count = 0;
    for (const [id, path] of paths) {
      if (++count % PER_TURN === 0) await nextTurn();
      const stats = this.#system.read(path);
      if (stats !== undefined) cgroups.set(id, { path, stats });
    }
    return cgroups;
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
