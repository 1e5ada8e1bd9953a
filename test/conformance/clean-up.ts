// Removes what a cluster with real containers may leave in its directory.

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';

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
