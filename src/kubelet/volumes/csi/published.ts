// The volumes that are published or staged according to the files on this node. Whatever the kubelet
// has to undo is found here, so it needs no memory of its own.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { podsDir } from '../../paths.ts';
import { blockVolumesDir, podVolumesDir, stagedVolumesDir, stagingPath } from './names.ts';
import { readVolumeData, VolumeDataError, type VolumeData } from './volume-data.ts';

export interface PublishedVolume {
  readonly podUid: string;
  /** The volume's directory. */
  readonly directory: string;
  /** Undefined if the file is corrupt. */
  readonly data: VolumeData | undefined;
}

export interface StagedVolume {
  readonly data: VolumeData;
  readonly directory: string;
  readonly stagingPath: string;
}

export interface BlockVolume {
  /** The name of the persistent volume. */
  readonly name: string;
  readonly data: VolumeData;
  /** The UIDs of pods for which the device is published. */
  readonly pods: readonly string[];
}

/** Returns the mounted volumes of a pod. */
export async function publishedIn(
  rootDir: string,
  podUid: string,
): Promise<readonly PublishedVolume[]> {
  const parent = podVolumesDir(rootDir, podUid);
  const published: PublishedVolume[] = [];
  for (const name of await names(parent)) {
    const directory = join(parent, name);
    const data = await readOrCorrupt(directory);
    // A crash before the file was written: there is nothing to undo.
    if (data === 'absent') continue;
    published.push({ podUid, directory, data: data === 'corrupt' ? undefined : data });
  }
  return published;
}

/** Returns the mounted volumes of all pods. */
export async function publishedVolumes(rootDir: string): Promise<readonly PublishedVolume[]> {
  const all: PublishedVolume[] = [];
  for (const uid of await names(podsDir(rootDir))) all.push(...(await publishedIn(rootDir, uid)));
  return all;
}

/** Returns the staged volumes with a file system. */
export async function stagedVolumes(rootDir: string): Promise<readonly StagedVolume[]> {
  const staged: StagedVolume[] = [];
  const parent = stagedVolumesDir(rootDir);
  for (const driver of await names(parent)) {
    for (const name of await names(join(parent, driver))) {
      const directory = join(parent, driver, name);
      const data = await readOrCorrupt(directory);
      if (typeof data === 'object')
        staged.push({ data, directory, stagingPath: stagingPath(directory) });
    }
  }
  return staged;
}

/** Returns the block volumes, those that no pod uses any more included. */
export async function blockVolumes(rootDir: string): Promise<readonly BlockVolume[]> {
  const parent = blockVolumesDir(rootDir);
  const found: BlockVolume[] = [];
  for (const name of await names(parent)) {
    if (name === 'staging' || name === 'publish') continue;
    const data = await readOrCorrupt(join(parent, name, 'data'));
    if (typeof data === 'object')
      found.push({ name, data, pods: await names(join(parent, name, 'dev')) });
  }
  return found;
}

async function readOrCorrupt(directory: string): Promise<VolumeData | 'corrupt' | 'absent'> {
  try {
    return (await readVolumeData(directory)) ?? 'absent';
  } catch (error) {
    if (error instanceof VolumeDataError) return 'corrupt';
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return 'absent';
    throw error;
  }
}

/** Returns the names in a directory; none if it does not exist. */
async function names(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
