// Reads cgroups of Linux, of version 2 or of the separate hierarchies of version 1.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { CgroupSystem } from '../cgroups/system.ts';
import type { CgroupStats } from '../cgroups/types.ts';
import { parseV1, V1_FILES } from '../cgroups/v1.ts';
import { parseV2, V2_FILES } from '../cgroups/v2.ts';

const ROOT = '/sys/fs/cgroup';
/** How deep containers are searched for, and in how many cgroups. */
const MAX_DEPTH = 8;
const MAX_CGROUPS = 20_000;

/** Returns the system of this machine; undefined if it has no cgroups. `root`: the mount point. */
export function linuxCgroups(root = ROOT): CgroupSystem | undefined {
  if (existsSync(`${root}/cgroup.controllers`)) return new UnifiedCgroups(root);
  return existsSync(`${root}/memory`) ? new SeparateCgroups(root) : undefined;
}

class UnifiedCgroups implements CgroupSystem {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  find(names: ReadonlySet<string>): ReadonlyMap<string, string> {
    return search(this.#root, names);
  }

  read(path: string): CgroupStats | undefined {
    const files = readAll(`${this.#root}${path}`, V2_FILES);
    return files.size === 0 ? undefined : parseV2(files);
  }

  deviceNames(): ReadonlyMap<string, string> {
    return deviceNames();
  }
}

class SeparateCgroups implements CgroupSystem {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  find(names: ReadonlySet<string>): ReadonlyMap<string, string> {
    return search(`${this.#root}/memory`, names);
  }

  read(path: string): CgroupStats | undefined {
    const files = new Map<string, string>();
    for (const [controller, names] of Object.entries(V1_FILES))
      for (const [name, text] of readAll(`${this.#root}/${controller}${path}`, names))
        files.set(name, text);
    return files.size === 0 ? undefined : parseV1(files);
  }

  deviceNames(): ReadonlyMap<string, string> {
    return deviceNames();
  }
}

/** Files of cgroups are made by the kernel as they are read, so reading one never waits. */
function readAll(directory: string, names: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const name of names) {
    try {
      files.set(name, readFileSync(`${directory}/${name}`, 'utf8'));
    } catch (error) {
      // ENODEV: the cgroup was removed. EOPNOTSUPP: pressure is not counted.
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!['ENOENT', 'ENODEV', 'EOPNOTSUPP', 'ENOTDIR', 'EACCES'].includes(code)) throw error;
    }
  }
  return files;
}

function deviceNames(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  // Lines 'MAJOR MINOR BLOCKS NAME'.
  for (const line of readAll('/proc', ['partitions']).get('partitions')?.split('\n') ?? []) {
    const [major, minor, , name] = line.trim().split(/ +/);
    if (name !== undefined) names.set(`${major}:${minor}`, `/dev/${name}`);
  }
  return names;
}

/** The name of a scope that systemd makes for a container: 'RUNTIME-ID.scope'. */
const SCOPE = /^[a-z-]+-([0-9a-f]{12,})\.scope$/;

function search(root: string, names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let level = [''];
  let seen = 0;
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const below: string[] = [];
    for (const parent of level) {
      for (const entry of directories(`${root}${parent}`)) {
        if (++seen > MAX_CGROUPS) return found;
        const path = `${parent}/${entry}`;
        const name = SCOPE.exec(entry)?.[1] ?? entry;
        if (names.has(name)) {
          found.set(name, path);
          if (found.size === names.size) return found;
        }
        below.push(path);
      }
    }
    level = below;
  }
  return found;
}

function directories(path: string): readonly string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    // The cgroup was removed.
    if (['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
