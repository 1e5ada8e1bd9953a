// Persistent volumes of type local: directories and block devices of this node. Directories in the
// kubelet's own volume directory belong to the built-in provisioner: such a directory is created
// with the first pod that uses it, and deleted on request.

import { chmod, mkdir, mkdtemp, rename, stat } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { removeTree } from '#machinery/files/directory.ts';
import type { Mounter } from './mounter.ts';

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/**
 * Returns what is at the path of a volume that is used as a file system. Rejects with the reason why
 * the path cannot be used. `ownDir`: the directory below which missing directories are created. At
 * most one call per path may be in flight.
 */
export async function localVolumeKind(
  path: string,
  ownDir: string,
): Promise<'directory' | 'device'> {
  if (path.split('/').includes('..'))
    throw new Error(`invalid path: ${path} must not contain '..'`);
  const own = normalize(path);
  if (dirname(own) === ownDir) await makeDirectory(own, ownDir);
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new Error(`path "${path}" does not exist`, { cause: error });
  });
  if (info.isDirectory()) return 'directory';
  if (info.isBlockDevice()) return 'device';
  throw new Error('only directory and block device are supported');
}

/** Checks the device of a block volume. Rejects with the reason why it cannot be used. */
export async function checkLocalDevice(path: string): Promise<void> {
  if (path.split('/').includes('..'))
    throw new Error(`invalid path: ${path} must not contain '..'`);
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new Error(`path "${path}" does not exist`, { cause: error });
  });
  if (!info.isBlockDevice()) throw new Error(`path "${path}" is not a block device`);
}

/** Creates the directory, writable by any user of the pod, atomically. */
async function makeDirectory(path: string, ownDir: string): Promise<void> {
  try {
    await stat(path);
    return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  await mkdir(ownDir, { recursive: true });
  const fresh = await mkdtemp(join(ownDir, '.new-'));
  // The process's umask restricts the mode of a new directory.
  await chmod(fresh, 0o777);
  await rename(fresh, path);
}

export class LocalVolumeError extends Error {}

/**
 * Deletes the directory of a volume, but never content that is mounted below it. Idempotent.
 * Rejects with LocalVolumeError for an invalid name.
 */
export async function removeLocalVolume(
  name: string,
  ownDir: string,
  mounter: Mounter,
): Promise<void> {
  if (!NAME.test(name)) throw new LocalVolumeError(`${name} is not the name of a volume`);
  const path = join(ownDir, name);
  const mounted = await mounter.mountsBelow(path);
  if (mounted.length > 0) throw new LocalVolumeError(`still mounted: ${mounted.join(', ')}`);
  await removeTree(path);
}
