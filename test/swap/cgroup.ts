// A cgroup for the pods of upstream's kubelet. That kubelet ends processes of pods that it does not
// know: without a root of its own, those of other kubelets of the machine.

import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const MOUNT = '/sys/fs/cgroup';

/** Makes the cgroup NAME below the root, with cgroup v1 in each hierarchy. Idempotent. */
export function makeCgroup(name: string): void {
  for (const dir of hierarchies()) mkdirSync(join(dir, name), { recursive: true });
}

/** Removes the cgroup with all below it. Those with processes stay. */
export function removeCgroup(name: string): void {
  for (const dir of hierarchies()) if (existsSync(join(dir, name))) removeTree(join(dir, name));
}

function hierarchies(): readonly string[] {
  if (existsSync(join(MOUNT, 'cgroup.controllers'))) return [MOUNT];
  return readdirSync(MOUNT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(MOUNT, name));
}

/** Removes directories from the deepest on. Their files belong to the kernel. */
function removeTree(dir: string): void {
  for (const entry of readdirSync(dir, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(dir, entry.name));
  try {
    rmdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
  }
}
