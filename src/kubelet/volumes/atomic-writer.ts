// Writes a set of files into a volume so that whoever reads them sees all of the old or all of the new, never a mixture.
//
// The files are in a directory of their own ('..2026_01_02_03_04_05.abc123'); '..data' is a link to it, and what is seen in
// the volume are links into '..data'. An update makes a new directory and moves '..data' over with one rename.

import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface FileProjection {
  readonly data: Uint8Array;
  /** Permission bits. */
  readonly mode: number;
}

/** By path relative to the volume. */
export type Payload = ReadonlyMap<string, FileProjection>;

const DATA = '..data';
const NEW_DATA = '..data_tmp';
const MAX_PATH_LENGTH = 4096;

/** Throws for a path that is absolute, leaves the volume, or would collide with the writer's own names. */
export function validatePaths(payload: Payload): void {
  for (const path of payload.keys()) {
    if (path === '') throw new Error('invalid path: must not be empty');
    if (path.startsWith('/')) throw new Error(`invalid path: must be relative path: ${path}`);
    if (path.length > MAX_PATH_LENGTH)
      throw new Error(`invalid path: must be less than or equal to ${MAX_PATH_LENGTH} characters`);
    const parts = path.split('/');
    if (parts.includes('..')) throw new Error(`invalid path: must not contain '..': ${path}`);
    if (parts[0]?.startsWith('..') === true) throw new Error(`invalid path: must not start with '..': ${path}`);
  }
}

/** `stamp`: part of the new directory's name, a time. Answers whether anything had to be written. */
export async function writeAtomically(directory: string, payload: Payload, stamp: string): Promise<boolean> {
  validatePaths(payload);
  const oldName = await readlink(join(directory, DATA)).catch(() => undefined);
  if (oldName !== undefined && (await isCurrent(join(directory, oldName), payload))) return false;

  const fresh = await mkdtemp(join(directory, `..${stamp}.`));
  await chmod(fresh, 0o755);
  for (const [path, file] of payload) {
    const target = join(fresh, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    await writeFile(target, file.data);
    // Set by hand: the mode of a new file is cut by the process's umask.
    await chmod(target, file.mode);
  }
  await rm(join(directory, NEW_DATA), { force: true });
  await symlink(fresh.slice(fresh.lastIndexOf('/') + 1), join(directory, NEW_DATA));
  await rename(join(directory, NEW_DATA), join(directory, DATA));

  const visible = new Set([...payload.keys()].map((path) => path.split('/')[0] ?? path));
  for (const name of visible) {
    const link = join(directory, name);
    if (await exists(link)) continue;
    await symlink(join(DATA, name), link);
  }
  for (const name of await readdir(directory)) {
    if (!name.startsWith('..') && !visible.has(name)) await rm(join(directory, name), { recursive: true, force: true });
  }
  if (oldName !== undefined) await rm(join(directory, oldName), { recursive: true, force: true });
  return true;
}

/** Whether the directory holds exactly these files. */
async function isCurrent(directory: string, payload: Payload): Promise<boolean> {
  try {
    const present = await listFiles(directory, '');
    if (present.length !== payload.size) return false;
    for (const path of present) {
      const wanted = payload.get(path);
      if (wanted === undefined) return false;
      const [data, info] = await Promise.all([readFile(join(directory, path)), stat(join(directory, path))]);
      // Group bits may have been added for the pod's fsGroup.
      if ((info.mode & wanted.mode) !== wanted.mode || Buffer.compare(data, wanted.data) !== 0) return false;
    }
    return true;
  } catch {
    // Unreadable is not current: it is written anew.
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

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw err;
  }
}
