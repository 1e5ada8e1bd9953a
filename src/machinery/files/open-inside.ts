// Opens a file inside a directory that other programs change, as if the directory were the root of
// the file system: links lead to files inside, whatever they contain.

import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { openBelow, openRoot, type Place } from './directory.ts';

const MAX_LINKS = 255;

/**
 * Opens the file. Rejects with ENOENT if it does not exist, and with ELOOP if a part of the path was
 * replaced by a link meanwhile. The file may have any type.
 */
export async function openInside(root: string, path: string): Promise<Place> {
  let place = await openRoot(root);
  try {
    for (const name of await resolveInside(root, path)) {
      const parent = place;
      place = await openBelow(parent, name);
      await parent.handle.close();
    }
    return place;
  } catch (error) {
    await place.handle.close();
    throw error;
  }
}

/** Returns the names of the path's directories and of the file, with all links resolved. */
async function resolveInside(root: string, path: string): Promise<readonly string[]> {
  let names: string[] = [];
  const pending = path.split('/').toReversed();
  let links = 0;
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      names.pop();
      continue;
    }
    const target = await linkTarget(join(root, ...names, name));
    if (target === undefined) {
      names.push(name);
      continue;
    }
    if (++links > MAX_LINKS) throw new Error(`too many links in ${JSON.stringify(path)}`);
    if (target.startsWith('/')) names = [];
    pending.push(...target.split('/').toReversed());
  }
  return names;
}

/** Returns the text of a link; undefined for another file, or none. */
async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['EINVAL', 'ENOENT', 'ENOTDIR'].includes(code)) return undefined;
    throw error;
  }
}
