// Removes the directory of a volume that is no longer mounted.

import { rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mounter } from '../mounter.ts';
import { DATA_FILE } from './volume-data.ts';

/**
 * Removes the mount point, the data file and the directory. Never removes content: the mount point
 * must be empty (a driver should have removed it itself). Does nothing while the volume is mounted;
 * rejects if the mount point is not empty.
 */
export async function removeVolumeDir(
  mounter: Mounter,
  directory: string,
  mountPoint: string,
): Promise<void> {
  if ((await mounter.mountsBelow(mountPoint)).length > 0) return;
  await ignoreMissing(removeEmpty(mountPoint));
  await rm(join(directory, DATA_FILE), { force: true });
  await rm(join(directory, `${DATA_FILE}.tmp`), { force: true });
  await ignoreMissing(rmdir(directory));
}

/** Removes an empty directory, or a link or file without following it. */
async function removeEmpty(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR') throw error;
    await unlink(path);
  }
}

export async function ignoreMissing(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
