// The interface to the kernel's cgroups. `../node/writable-cgroups.ts` implements it.

import type { CgroupFile, CgroupVersion } from './settings.ts';

/** Paths begin with '/', at the root of the hierarchy. */
export interface CgroupSystem {
  readonly version: CgroupVersion;
  /** Creates a cgroup and its ancestors. */
  create(path: string): Promise<void>;
  write(path: string, file: CgroupFile): Promise<void>;
  /** Resolves with undefined if the cgroup or the file does not exist. */
  read(
    path: string,
    controller: CgroupFile['controller'],
    name: string,
  ): Promise<string | undefined>;
  /** Returns the names of the cgroups directly below. */
  children(path: string): Promise<readonly string[]>;
  /** Removes a cgroup with those below it. One that has processes is left. */
  remove(path: string): Promise<void>;
}
