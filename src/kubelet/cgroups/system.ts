// The one interface through which cgroups are read. node/linux-cgroups.ts implements it.

import type { CgroupStats } from './types.ts';

export interface CgroupSystem {
  /** Returns the paths of the cgroups with these names, from the root: '/a/b'. */
  find(names: ReadonlySet<string>): ReadonlyMap<string, string>;
  /** Returns the statistics of a cgroup; undefined if it does not exist. */
  read(path: string): CgroupStats | undefined;
  /** Returns the names of block devices by 'MAJOR:MINOR'. */
  deviceNames(): ReadonlyMap<string, string>;
}
