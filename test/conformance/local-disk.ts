// A disk of a machine with a file system of its own, where tests of local volumes look for one: the
// place that upstream's installations on a cloud mount it at.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './cable.ts';
import type { MachineFiles } from './machines.ts';

const PLACE = '/mnt/disks/by-uuid/google-local-ssds-scsi-fs';
const SIZE = '64M';

/**
 * Makes a disk in `dir`, and mounts it there. Returns where a machine has it: see MachineFiles. The
 * directory of this machine is the mount point only.
 */
export function makeLocalDisk(dir: string): MachineFiles['binds'][number] {
  const [image, mounted, place] = [
    join(dir, 'disk'),
    join(dir, 'disk-mounted'),
    join(PLACE, 'disk'),
  ];
  for (const each of [mounted, place]) mkdirSync(each, { recursive: true });
  run('truncate', '-s', SIZE, image);
  run('mkfs.ext4', '-q', '-F', image);
  run('mount', '-o', 'loop', image, mounted);
  return [mounted, place];
}
