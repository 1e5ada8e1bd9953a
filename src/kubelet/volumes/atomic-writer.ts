// Writes a set of files into a volume atomically: readers see either all old or all new files.
//
// The files are in a versioned directory ('..2026_01_02_03_04_05.abc123'); '..data' is a link to
// it, and the visible names in the volume are links into '..data'. An update creates a new
// directory and replaces '..data' with one rename.
//
// Containers mount these volumes read-only, but not every runtime enforces that: the content of the
// volume is checked before it is read, followed or removed.

import {
  chmod,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rename,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { removeTree } from '#machinery/files/directory.ts';
import { readUntrusted } from '#machinery/files/untrusted.ts';

export interface FileProjection {
  readonly data: Uint8Array;
  /** Permission bits. */
  readonly mode: number;
  /** The user ID of the file's owner. Default: the kubelet's own. Without root it has no effect. */
  readonly owner?: number;
}

/** By path relative to the volume. */
export type Payload = ReadonlyMap<string, FileProjection>;

const DATA = '..data';
const NEW_DATA = '..data_tmp';
const MAX_PATH_LENGTH = 4096;

/**
 * Throws for a path that is absolute, leaves the volume, or collides with the writer's own names.
 */
function validatePaths(payload: Payload): void {
  for (const path of payload.keys()) {
    if (path === '') throw new Error('invalid path: must not be empty');
    if (path.startsWith('/')) throw new Error(`invalid path: must be relative path: ${path}`);
    if (path.length > MAX_PATH_LENGTH)
      throw new Error(`invalid path: must be less than or equal to ${MAX_PATH_LENGTH} characters`);
    const parts = path.split('/');
    if (parts.includes('..')) throw new Error(`invalid path: must not contain '..': ${path}`);
    if (parts[0]?.startsWith('..') === true)
      throw new Error(`invalid path: must not start with '..': ${path}`);
  }
}

export interface AtomicWrite {
  readonly directory: string;
  readonly payload: Payload;
  /** A time, for the name of the new directory. */
  readonly stamp: string;
  /** Called after the files were written and before they become visible. */
  readonly setPermissions?: () => Promise<void>;
}

/** Writes the files. Resolves with whether a write was needed. */
export async function writeAtomically({
  directory,
  payload,
  stamp,
  setPermissions,
}: AtomicWrite): Promise<boolean> {
  validatePaths(payload);
  const oldName = await dataDirectory(directory);
  if (oldName !== undefined && (await isCurrent(join(directory, oldName), payload))) return false;

  const newDirectory = await mkdtemp(join(directory, `..${stamp}.`));
  await chmod(newDirectory, 0o755);
  for (const [path, file] of payload) {
    const target = join(newDirectory, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    await writeFile(target, file.data, { flag: 'wx' });
    if (file.owner !== undefined && isRoot()) await lchown(target, file.owner, -1);
    // The process's umask restricts the mode of a new file.
    await chmod(target, file.mode);
  }
  await setPermissions?.();
  await removeTree(join(directory, NEW_DATA));
  await symlink(basename(newDirectory), join(directory, NEW_DATA));
  // A rename can replace a link, but not a directory.
  if (oldName === undefined) await removeTree(join(directory, DATA));
  await rename(join(directory, NEW_DATA), join(directory, DATA));

  const visible = new Set([...payload.keys()].map((path) => path.split('/')[0] ?? path));
  for (const name of visible) {
    const link = join(directory, name);
    if ((await linkTarget(link)) === join(DATA, name)) continue;
    await removeTree(link);
    await symlink(join(DATA, name), link);
  }
  for (const name of await readdir(directory)) {
    if (!name.startsWith('..') && !visible.has(name)) await removeTree(join(directory, name));
  }
  if (oldName !== undefined) await removeTree(join(directory, oldName));
  return true;
}

const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * Returns the name of the directory behind '..data'; undefined if this writer did not create it in
 * the volume.
 */
async function dataDirectory(directory: string): Promise<string | undefined> {
  const target = await linkTarget(join(directory, DATA));
  return target !== undefined &&
    /^\.\.[^./][^/]*$/.test(target) &&
    target !== DATA &&
    target !== NEW_DATA
    ? target
    : undefined;
}

/** Returns the link's target; undefined if nothing, or no link, is at the path. */
async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EINVAL') return undefined;
    throw error;
  }
}

/** Reports whether the directory contains exactly these files. */
async function isCurrent(directory: string, payload: Payload): Promise<boolean> {
  try {
    const present = await listFiles(directory, '');
    if (present.length !== payload.size) return false;
    for (const path of present) {
      const wanted = payload.get(path);
      if (wanted === undefined) return false;
      const info = await lstat(join(directory, path));
      if (!info.isFile() || info.size !== wanted.data.length) return false;
      if (wanted.owner !== undefined && isRoot() && info.uid !== wanted.owner) return false;
      // Group bits may have been added for the pod's fsGroup.
      if ((info.mode & wanted.mode) !== wanted.mode) return false;
      if (Buffer.compare(await readUntrusted(join(directory, path), info.size), wanted.data) !== 0)
        return false;
    }
    return true;
  } catch {
    // Unreadable files are written again.
    return false;
  }
}

async function listFiles(root: string, below: string): Promise<string[]> {
  const entries = await readdir(join(root, below), { withFileTypes: true });
  const lists = await Promise.all(
    entries.map(async (entry) => {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      return entry.isDirectory() ? await listFiles(root, path) : [path];
    }),
  );
  return lists.flat();
}
