// subPath: a container gets only a part of a volume. What is in the volume was written by containers, so a link in it may
// point anywhere: the path is resolved, has to stay inside the volume, and is then opened step by step without following
// any link, so that nothing can be exchanged in between.

import { constants, type Stats } from 'node:fs';
import { mkdir, open, realpath, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { Mounter } from './mounter.ts';

export interface SubpathInput {
  /** Where the volume is. */
  readonly volumePath: string;
  readonly subPath: string;
  /** Where the part is to be made visible: a path that belongs to the kubelet alone. */
  readonly target: string;
  readonly mounter: Mounter;
}

/** Rejects a subPath that is absolute or has '..' in it. */
export function validateSubpath(subPath: string): void {
  if (subPath.startsWith('/')) throw new Error(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..')) throw new Error(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
}

/** The path to hand to the runtime. What is missing of it is made, as a directory like the volume's own. */
export async function prepareSubpath(input: SubpathInput): Promise<string> {
  validateSubpath(input.subPath);
  const root = await realpath(input.volumePath);
  const wanted = join(root, input.subPath);
  await makeMissing(root, wanted, (await stat(root)).mode & 0o777);
  const resolved = await resolveInside(root, wanted, input.subPath);
  // Without mounts the checked path is all there is: a container of the same pod could exchange a link at the last moment.
  if (!input.mounter.available) return resolved;

  const handle = await openWithoutLinks(root, resolved);
  try {
    const info = await handle.stat();
    await prepareTarget(input.target, info, input.mounter);
    await input.mounter.bind(`/proc/${process.pid}/fd/${handle.fd}`, input.target);
    return input.target;
  } finally {
    await handle.close();
  }
}

/** Makes the directories that are missing below what is there already; nothing is made outside of the volume. */
async function makeMissing(root: string, wanted: string, mode: number): Promise<void> {
  let existing = wanted;
  const missing: string[] = [];
  for (;;) {
    try {
      await stat(existing);
      break;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT' || existing === root) throw err;
      missing.unshift(existing);
      existing = dirname(existing);
    }
  }
  const base = await resolveInside(root, existing, relative(root, wanted));
  if (missing.length === 0) return;
  await mkdir(join(base, relative(existing, wanted)), { recursive: true, mode });
}

async function resolveInside(root: string, path: string, subPath: string): Promise<string> {
  const resolved = await realpath(path);
  if (resolved !== root && !resolved.startsWith(root === sep ? sep : root + sep)) {
    throw new Error(`subpath "${subPath}" not within volume path "${root}"`);
  }
  return resolved;
}

/** Opens each part of the path relative to the one before, refusing links: what is opened is what was checked. */
async function openWithoutLinks(root: string, path: string): Promise<FileHandle> {
  let handle = await open(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  for (const part of relative(root, path)
    .split(sep)
    .filter((name) => name !== '')) {
    try {
      const next = await open(
        `/proc/self/fd/${handle.fd}/${part}`,
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      );
      await handle.close();
      handle = next;
    } catch (err) {
      await handle.close();
      throw err;
    }
  }
  return handle;
}

async function prepareTarget(target: string, info: Stats, mounter: Mounter): Promise<void> {
  for (const mounted of await mounter.mountsBelow(target)) await mounter.unmount(mounted);
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  await rm(target, { recursive: true, force: true });
  if (info.isDirectory()) await mkdir(target, { mode: 0o750 });
  else await writeFile(target, '', { mode: 0o640 });
}
