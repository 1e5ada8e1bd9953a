// fsGroup: gives the files of a volume to the pod's group, and lets new files inherit the group.

import { lstat } from 'node:fs/promises';
import { walkTree } from '#machinery/files/directory.ts';
import type { Pod } from '../types.ts';

const READ_WRITE = 0o660;
const READ_ONLY = 0o440;
const SEARCH = 0o110;
const SET_GROUP_ID = 0o2000;

/**
 * Errors of a file system that does not let root change owners or modes: it is read-only, or its
 * server does not allow it.
 */
const UNCHANGEABLE: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'ENOTSUP',
  'EPERM',
  'EROFS',
]);

/**
 * Gives a volume with its content to a group. Containers may replace files meanwhile: only files
 * inside the volume are changed. Only root may change owners; for other users the volume stays as
 * it is. Files that the file system does not let change stay as they are, too: as with upstream's
 * kubelet, the pod starts and can do with them what their modes allow.
 */
export async function setVolumeGroup(
  path: string,
  group: number,
  readOnly: boolean,
): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const mask = readOnly ? READ_ONLY : READ_WRITE;
  await walkTree(path, async ({ info, chown, chmod }) => {
    if (info.gid !== group) await ifAllowed(chown(info.uid, group));
    if (info.isSymbolicLink()) return;
    const wanted = (info.mode & 0o7777) | mask | (info.isDirectory() ? SET_GROUP_ID | SEARCH : 0);
    // After chown, which clears the set-group-ID bit.
    await ifAllowed(chmod(wanted));
  });
}

async function ifAllowed(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!UNCHANGEABLE.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}

/**
 * Reports whether the volume's own directory is as `setVolumeGroup` leaves it, so that its content
 * is assumed to be, too.
 */
export async function belongsToGroup(
  path: string,
  group: number,
  readOnly: boolean,
): Promise<boolean> {
  const { gid, mode } = await lstat(path);
  const wanted = (readOnly ? READ_ONLY : READ_WRITE) | SET_GROUP_ID | SEARCH;
  return gid === group && (mode & wanted) === wanted;
}

/** Gives the files of a persistent volume to the pod's group, if it has one. */
export async function givePersistentToGroup({ spec }: Pod, path: string): Promise<void> {
  const { fsGroup: group, fsGroupChangePolicy } = spec.securityContext ?? {};
  if (group === undefined) return;
  // A persistent volume may be large: with this policy its files are visited once.
  if (fsGroupChangePolicy === 'OnRootMismatch' && (await belongsToGroup(path, group, false)))
    return;
  await setVolumeGroup(path, group, false);
}
