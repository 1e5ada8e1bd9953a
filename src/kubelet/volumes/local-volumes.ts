// Persistent volumes of type local: a directory of this node. Those in the kubelet's own directory
// of volumes were made by the built-in provisioner: the directory itself comes into being with the
// first pod that uses it, and is removed on request.

import { chmod, mkdir, mkdtemp, rename, stat } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { removeTree } from '#machinery/files/directory.ts';
import type { Mounter } from './mounter.ts';

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/**
 * Rejects with why the path will not do. `ownDir`: where the kubelet makes what is missing. Never
 * twice at once for one path.
 */
export async function checkLocalVolume(path: string, ownDir: string): Promise<void> {
  if (path.split('/').includes('..'))
    throw new Error(`invalid path: ${path} must not contain '..'`);
  const own = normalize(path);
  if (dirname(own) === ownDir) await makeDirectory(own, ownDir);
  try {
    const info = await stat(path);
    if (!info.isDirectory())
      throw new Error(
        `path "${path}" is not a directory: block devices are not supported by this kubelet`,
      );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new Error(`path "${path}" does not exist`, { cause: error });
    throw error;
  }
}

/** Creates the directory, writable by any user of the pod, completely or not at all. */
async function makeDirectory(path: string, ownDir: string): Promise<void> {
  try {
    await stat(path);
    return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  await mkdir(ownDir, { recursive: true });
  const fresh = await mkdtemp(join(ownDir, '.new-'));
  // By hand: the mode of a new directory is cut by the process's umask.
  await chmod(fresh, 0o777);
  await rename(fresh, path);
}

export class LocalVolumeError extends Error {}

/**
 * Idempotent. Rejects with LocalVolumeError for a name that is none of a volume; never removes what
 * is mounted below it.
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
