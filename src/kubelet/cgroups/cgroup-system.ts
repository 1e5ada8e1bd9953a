// The cgroups of this machine: v1 with a hierarchy per controller, or v2 with a single one.

import { access, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CgroupFile, CgroupVersion } from './settings.ts';

type Controller = CgroupFile['controller'];

/** The one interface to the kernel's cgroups. Paths begin with '/', at the root of the hierarchy. */
export interface CgroupSystem {
  readonly version: CgroupVersion;
  /** Creates a cgroup and its ancestors. */
  create(path: string): Promise<void>;
  write(path: string, file: CgroupFile): Promise<void>;
  /** Resolves with undefined if the cgroup or the file does not exist. */
  read(path: string, controller: Controller, name: string): Promise<string | undefined>;
  /** Returns the names of the cgroups directly below. */
  children(path: string): Promise<readonly string[]>;
  /** Removes a cgroup with those below it. One that has processes is left. */
  remove(path: string): Promise<void>;
}

const CONTROLLERS: readonly Controller[] = ['cpu', 'memory', 'pids'];
const MAX_DEPTH = 6;

export class LinuxCgroups implements CgroupSystem {
  readonly version: CgroupVersion;
  readonly #root: string;

  /** Finds out the version. `root`: the mount point. Rejects if there are no cgroups. */
  static async open(root = '/sys/fs/cgroup'): Promise<LinuxCgroups> {
    const unified = await exists(join(root, 'cgroup.controllers'));
    if (!unified)
      for (const controller of CONTROLLERS)
        if (!(await exists(join(root, controller))))
          throw new Error(`cgroups: ${root} has no controller ${controller}`);
    return new LinuxCgroups(root, unified ? 2 : 1);
  }

  private constructor(root: string, version: CgroupVersion) {
    this.#root = root;
    this.version = version;
  }

  async create(path: string): Promise<void> {
    if (this.version === 2 && path !== '/') await this.#delegate(dirname(path));
    for (const directory of this.#directories(path)) await mkdir(directory, { recursive: true });
  }

  async write(path: string, { controller, name, value }: CgroupFile): Promise<void> {
    await writeFile(join(this.#directory(path, controller), name), value);
  }

  async read(path: string, controller: Controller, name: string): Promise<string | undefined> {
    return await ifExists(readFile(join(this.#directory(path, controller), name), 'utf8'));
  }

  async children(path: string): Promise<readonly string[]> {
    const entries = await ifExists(
      readdir(this.#directory(path, 'memory'), { withFileTypes: true }),
    );
    return (entries ?? []).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  async remove(path: string): Promise<void> {
    // The runtime makes cgroups in the hierarchies of all other controllers of v1, too.
    const roots =
      this.version === 2
        ? [this.#root]
        : (await readdir(this.#root, { withFileTypes: true }))
            .filter((entry) => entry.isDirectory())
            .map(({ name }) => join(this.#root, name));
    for (const root of roots) await removeTree(join(root, path), MAX_DEPTH);
  }

  /** Enables the controllers for the children of a cgroup of v2, and of its ancestors. */
  async #delegate(path: string): Promise<void> {
    await mkdir(join(this.#root, path), { recursive: true });
    if (path !== '/') await this.#delegate(dirname(path));
    const enable = CONTROLLERS.map((name) => `+${name}`).join(' ');
    await writeFile(join(this.#root, path, 'cgroup.subtree_control'), enable);
  }

  #directory(path: string, controller: Controller): string {
    return this.version === 2 ? join(this.#root, path) : join(this.#root, controller, path);
  }

  #directories(path: string): readonly string[] {
    return [...new Set(CONTROLLERS.map((controller) => this.#directory(path, controller)))];
  }
}

/** Removes the directories only: the kernel removes the files. */
async function removeTree(path: string, depth: number): Promise<void> {
  const entries = await ifExists(readdir(path, { withFileTypes: true }));
  if (entries === undefined || depth === 0) return;
  for (const entry of entries)
    if (entry.isDirectory()) await removeTree(join(path, entry.name), depth - 1);
  try {
    await rmdir(path);
  } catch (error) {
    // A process is in it: the next cleanup tries again.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EBUSY' && code !== 'ENOTEMPTY') throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await ifExists(access(path).then(() => true))) === true;
}

async function ifExists<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ENODEV: the cgroup was removed while it was read.
    if (code === 'ENOENT' || code === 'ENODEV') return undefined;
    throw error;
  }
}
