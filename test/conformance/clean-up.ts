// Removes what a cluster with real containers may leave in its directory.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the mount points below `dir`, the deepest first. */
export function mountsBelow(dir: string, mounts: string): string[] {
  return mounts
    .split('\n')
    .map((line) =>
      (line.split(' ')[1] ?? '').replaceAll(/\\(\d{3})/g, (_, octal: string) =>
        String.fromCharCode(parseInt(octal, 8)),
      ),
    )
    .filter((path) => path.startsWith(`${dir}/`))
    .sort()
    .reverse();
}

/** Unmounts everything in a directory, and removes it. */
export function cleanUp(dir: string): void {
  if (process.platform === 'linux') {
    for (const path of mountsBelow(dir, readFileSync('/proc/mounts', 'utf8')))
      spawnSync('umount', ['--lazy', path]);
  }
  rmSync(dir, { recursive: true, force: true });
}

/** Removes a cgroup without processes, such as `/x`, with those below it, in all hierarchies. */
export function removeCgroup(path: string, root = '/sys/fs/cgroup'): void {
  const isThere = existsSync(root);
  for (const hierarchy of isThere ? ['.', ...readdirSync(root)] : [])
    removeTree(join(root, hierarchy, path));
}

function removeTree(dir: string): void {
  if (!existsSync(dir)) return;
  // The files of a cgroup go with it, and cannot be removed.
  for (const entry of readdirSync(dir, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(dir, entry.name));
  try {
    rmdirSync(dir);
  } catch (error) {
    // The kernel needs a moment to release what ended processes have used.
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
  }
}
