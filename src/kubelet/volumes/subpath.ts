// subPath: a container gets only a part of a volume. Containers may write into volumes at any time,
// so a link in a volume may lead anywhere, and a checked directory may have been replaced by a link
// when it is used. The resolved path must stay inside the volume; then it is walked from one open
// directory to the next without following links. Missing directories are created inside the open
// directory, so they are inside the volume, too.

import type { Stats } from 'node:fs';
import { mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import {
  openBelow,
  openOrMakeDirectory,
  openRoot,
  removeTree,
  type Place,
} from '#machinery/files/directory.ts';
import type { Mounter } from './mounter.ts';

export interface SubpathInput {
  /** The path of the volume. */
  readonly volumePath: string;
  readonly subPath: string;
  /** The path at which the part is mounted. It belongs to the kubelet alone. */
  readonly target: string;
  readonly mounter: Mounter;
}

/** Throws for a subPath that is absolute or contains '..'. */
function validateSubpath(subPath: string): void {
  if (subPath.startsWith('/'))
    throw new Error(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..'))
    throw new Error(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
}

/**
 * Returns the path for the runtime. Missing directories of the subPath are created with the mode of
 * the volume's own. Without mounts, the returned path is checked, but a container may replace it
 * before the runtime uses it.
 */
export async function prepareSubpath(input: SubpathInput): Promise<string> {
  validateSubpath(input.subPath);
  const root = await realpath(input.volumePath);
  const part = await openSubpath(root, input.subPath, (await stat(root)).mode & 0o7777);
  try {
    if (!input.mounter.available) return part.path;
    await prepareTarget(input.target, await part.handle.stat(), input.mounter);
    await input.mounter.bind(`/proc/${process.pid}/fd/${part.handle.fd}`, input.target);
    return input.target;
  } finally {
    await part.handle.close();
  }
}

/** Opens the subPath, with the links of its existing part resolved. Creates missing directories. */
async function openSubpath(root: string, subPath: string, mode: number): Promise<Place> {
  const wanted = names(subPath);
  const { existing, count } = await resolveExisting(root, wanted);
  if (existing !== root && !existing.startsWith(root === sep ? sep : root + sep)) {
    throw new Error(`subpath "${subPath}" not within volume path "${root}"`);
  }
  let place = await openRoot(root);
  const descend = async (open: (parent: Place) => Promise<Place>): Promise<void> => {
    const parent = place;
    place = await open(parent);
    await parent.handle.close();
  };
  try {
    for (const name of names(relative(root, existing)))
      await descend((parent) => openBelow(parent, name));
    for (const name of wanted.slice(count))
      await descend((parent) => openOrMakeDirectory(parent, name, mode));
    return place;
  } catch (error) {
    await place.handle.close();
    throw error;
  }
}

/** Returns the longest existing prefix of the path, resolved, and the number of its names. */
async function resolveExisting(
  root: string,
  wanted: readonly string[],
): Promise<{ readonly existing: string; readonly count: number }> {
  for (let count = wanted.length; ; count--) {
    try {
      return { existing: await realpath(join(root, ...wanted.slice(0, count))), count };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || count === 0) throw error;
    }
  }
}

function names(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

async function prepareTarget(target: string, info: Stats, mounter: Mounter): Promise<void> {
  for (const mounted of await mounter.mountsBelow(target)) await mounter.unmount(mounted);
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  await removeTree(target);
  if (info.isDirectory()) await mkdir(target, { mode: 0o750 });
  else await writeFile(target, '', { mode: 0o640, flag: 'wx' });
}
