// Walks paths inside a directory that other programs change at the same time, such as the volume of
// a running container.
//
// A path that was checked may lead elsewhere when it is used, because a container has replaced a
// directory by a link. Each function here therefore walks from an open directory to the next, name
// by name, and never follows a link. Names are opened as /proc/self/fd/N/NAME, which has the effect
// of openat(2). Without /proc (not Linux) paths are used directly, and concurrent changes are not
// guarded against.

import { constants, type Dir, type Stats } from 'node:fs';
import {
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  opendir,
  rename,
  rm,
  rmdir,
  unlink,
  type FileHandle,
} from 'node:fs/promises';
import { basename, join } from 'node:path';

const O_PATH = 0o10000000;
const isLinux = process.platform === 'linux';
const LOOK = isLinux ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * An open directory, or another file that was reached by walking. It is opened with O_PATH, which
 * neither waits nor reads.
 */
export interface Place {
  readonly handle: FileHandle;
  /** The path by which the file was reached, for messages. */
  readonly path: string;
}

/** Returns a path to the open file itself, even if the file was moved or replaced. */
export function pathOf({ handle, path }: Place): string {
  return isLinux ? `/proc/self/fd/${handle.fd}` : path;
}

/**
 * Opens a directory whose path is trusted. Rejects with ENOTDIR for anything else, links included.
 */
export async function openRoot(path: string): Promise<Place> {
  return { handle: await open(path, LOOK | constants.O_DIRECTORY | constants.O_NOFOLLOW), path };
}

/**
 * Opens `name` in an open directory: a file of any type except a link. Rejects with ELOOP for a
 * link.
 */
export async function openBelow(parent: Place, name: string): Promise<Place> {
  checkName(name);
  const path = join(parent.path, name);
  const handle = await open(`${pathOf(parent)}/${name}`, LOOK | constants.O_NOFOLLOW);
  try {
    // O_PATH opens a link itself.
    if ((await handle.stat()).isSymbolicLink()) throw linkError(path);
    return { handle, path };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Opens the directory `name` in an open directory, and creates it with `mode` if it is missing. */
export async function openOrMakeDirectory(
  parent: Place,
  name: string,
  mode: number,
): Promise<Place> {
  checkName(name);
  try {
    await mkdir(`${pathOf(parent)}/${name}`, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return await openBelow(parent, name);
  }
  const directory = await openBelow(parent, name);
  try {
    // mkdir applies the umask to the mode.
    await chmod(pathOf(directory), mode);
    return directory;
  } catch (error) {
    await directory.handle.close();
    throw error;
  }
}

function checkName(name: string): void {
  if (name === '' || name === '.' || name === '..' || name.includes('/'))
    throw new Error(`invalid file name ${JSON.stringify(name)}`);
}

function linkError(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`ELOOP: ${path} is a symbolic link`), { code: 'ELOOP' });
}

/**
 * Calls `visit` for a file and everything below it, a directory before its content. Links are
 * visited, not followed.
 */
export async function walkTree(
  path: string,
  visit: (file: TreeFile) => Promise<void>,
): Promise<void> {
  const handle = await open(path, LOOK | constants.O_NOFOLLOW);
  try {
    await walk({ handle, path }, visit);
  } finally {
    await handle.close();
  }
}

/** A file of a tree. Its functions act on the opened inode, whatever its path leads to later. */
export interface TreeFile {
  readonly path: string;
  readonly info: Stats;
  chown(uid: number, gid: number): Promise<void>;
  /** Changes the mode. Must not be called for links, which have none. */
  chmod(mode: number): Promise<void>;
}

async function walk(place: Place, visit: (file: TreeFile) => Promise<void>): Promise<void> {
  const info = await place.handle.stat();
  await visit({
    path: place.path,
    info,
    // chown(2) follows the link in /proc to the open inode.
    chown: (uid, gid) =>
      info.isSymbolicLink() ? Promise.resolve() : chown(pathOf(place), uid, gid),
    chmod: (mode) => chmod(pathOf(place), mode),
  });
  if (!info.isDirectory()) return;
  for await (const { name } of await opendir(pathOf(place))) {
    let handle: FileHandle;
    try {
      handle = await open(`${pathOf(place)}/${name}`, LOOK | constants.O_NOFOLLOW);
    } catch (error) {
      // The file was removed meanwhile.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw error;
    }
    try {
      if (isLinux && (await handle.stat()).isSymbolicLink()) {
        await visit({
          path: join(place.path, name),
          info: await handle.stat(),
          chown: (uid, gid) => lchown(`${pathOf(place)}/${name}`, uid, gid),
          chmod: () => Promise.resolve(),
        });
      } else await walk({ handle, path: join(place.path, name) }, visit);
    } finally {
      await handle.close();
    }
  }
}

/**
 * The depth below which directories are moved up before they are emptied, which limits the open
 * descriptors.
 */
const MAX_DEPTH = 32;
/** The number of attempts to empty a directory that another program writes to. */
const MAX_PASSES = 3;

/**
 * Removes a file or a directory with its contents. Links are not followed. Trees deeper than the
 * system's longest path are removed, too. Resolves if nothing exists at the path. The contents of a
 * mount below the path are removed before the removal fails with EBUSY, so the caller checks for
 * mounts first.
 */
export async function removeTree(path: string): Promise<void> {
  if (!isLinux) return await rm(path, { recursive: true, force: true });
  try {
    if (!(await lstat(path)).isDirectory()) return await unlink(path);
    const root = await openRoot(path);
    const tooDeep = new Set<string>();
    try {
      await empty(root, root, 0, tooDeep);
      for (const name of tooDeep) {
        // Directories that are too deep below this one are appended to the set.
        await removeDirectory(root, name, root, 1, tooDeep);
      }
    } finally {
      await root.handle.close();
    }
    await rmdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function removeDirectory(
  parent: Place,
  name: string,
  root: Place,
  depth: number,
  tooDeep: Set<string>,
): Promise<void> {
  const directory = await openBelow(parent, name);
  try {
    for (let pass = 1; ; pass++) {
      await empty(directory, root, depth, tooDeep);
      try {
        return await rmdir(`${pathOf(parent)}/${name}`);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || pass === MAX_PASSES)
          throw error;
      }
    }
  } finally {
    await directory.handle.close();
  }
}

/**
 * Removes the contents of the directory. `tooDeep`: names of directories that were moved into
 * `root` and are removed from there.
 */
async function empty(
  place: Place,
  root: Place,
  depth: number,
  tooDeep: Set<string>,
): Promise<void> {
  for await (const entry of await openToEmpty(place)) {
    const { name } = entry;
    if (place === root && tooDeep.has(name)) continue;
    const path = `${pathOf(place)}/${name}`;
    if (!entry.isDirectory()) await ignoreMissing(unlink(path));
    else if (depth < MAX_DEPTH) await removeDirectory(place, name, root, depth + 1, tooDeep);
    else {
      // A new empty directory reserves a free name; the rename replaces it.
      const aside = await mkdtemp(`${pathOf(root)}/.removed-`);
      await rename(path, aside);
      tooDeep.add(basename(aside));
    }
  }
}

/**
 * Opens a directory for reading. A directory without permissions gets them: without root, even its
 * owner needs them.
 */
async function openToEmpty(place: Place): Promise<Dir> {
  try {
    return await opendir(pathOf(place));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    await chmod(pathOf(place), 0o700);
    return await opendir(pathOf(place));
  }
}

async function ignoreMissing(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
