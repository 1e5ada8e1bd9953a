// Takes a cluster off this machine: the processes of its pods, their networks and mounts, and its
// data directory. It works on what it finds, not on what was recorded, so that it also cleans up
// after a crash at any point, and after an earlier reset that was cut off.
//
// The order matters: processes first (they hold mounts and write files), then networks, mounts and
// files. The tag that makes the directory known as a data directory goes last.

import { execFile } from 'node:child_process';
import { lstatSync, readFileSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parseMountPoints } from '#machinery/files/mount-points.ts';
import type { Clock } from '#machinery/clock.ts';
import {
  containerdProcesses,
  containerdRemains,
  killContainerd,
  removeRemains,
} from '#runtime/containerd/reset.ts';
import { containerProcesses, killContainers } from '#runtime/process/reset.ts';
import {
  checkStoreUnused,
  claimDataDir,
  type DataDirLayout,
  dataDirLayout,
  entriesOf,
  isDataDir,
  isOwnEntry,
  runningProcess,
  tagDataDir,
} from '../data-dir/data-dir.ts';
import { removeKernelState } from './kernel-state.ts';
import { UserError } from '../user-error.ts';

const run = promisify(execFile);

export interface ResetOptions {
  readonly dataDir: string;
  /** The kubelet's directory, if it is not in the data directory. */
  readonly rootDir?: string;
  readonly clock: Clock;
  readonly progress: (text: string) => void;
}

export interface ResetResult {
  readonly root: string;
  readonly processes: number;
  readonly mounts: number;
  /** Entries of the data directory that no cluster has made. They stay. */
  readonly kept: readonly string[];
}

/** Processes and mounts that a stopped cluster has left. */
export interface Leftovers {
  readonly processes: number;
  readonly mounts: number;
}

/** Directories that a kubelet makes in its own. */
const KUBELET_DIRECTORIES = ['pods', 'local-volumes'];

/**
 * Throws UserError unless the directory can be reset: a cluster has made it, and no process runs on
 * it. Returns false if there is nothing to do, since the directory does not exist or is empty.
 */
export async function checkResettable(dataDir: string): Promise<boolean> {
  const layout = dataDirLayout(dataDir);
  if (entriesOf(layout).length === 0) return false;
  if (!isDataDir(layout)) {
    throw new UserError(
      `${layout.root} is no data directory of a cluster: nothing was removed. Name the right one with --data-dir.`,
    );
  }
  const running = await runningProcess(layout);
  if (running !== undefined) {
    throw new UserError(
      `a cluster runs on ${layout.root} (process ${running.pid}): stop it with 'cox down ` +
        `--data-dir ${layout.root}', or add --stop`,
    );
  }
  await checkStoreUnused(layout);
  return true;
}

/**
 * Removes all that `checkResettable` allows. Idempotent. Rejects with UserError for what cannot be
 * removed; the rest can be tried again.
 */
export async function reset(options: ResetOptions): Promise<ResetResult> {
  const { clock, progress } = options;
  const layout = dataDirLayout(options.dataDir);
  const result = { root: layout.root, processes: 0, mounts: 0, kept: [] as readonly string[] };
  if (!(await checkResettable(options.dataDir))) return result;
  const release = await claim(layout);
  try {
    progress('ending containers');
    const { processes, namespaces } = await endContainers(layout.root, clock);
    result.processes = processes;
    if (process.platform === 'linux' && process.getuid?.() === 0) {
      progress('removing networks');
      await removeKernelState(pathsOf(layout.root), namespaces);
    }
    progress('unmounting');
    const kubeletDirs = [
      layout.kubelet,
      ...(options.rootDir === undefined ? [] : [resolve(options.rootDir)]),
    ];
    for (const dir of [layout.root, ...kubeletDirs.slice(1)])
      result.mounts += await unmountBelow(dir);
    progress('removing files');
    for (const dir of kubeletDirs.slice(1))
      for (const name of KUBELET_DIRECTORIES) remove(join(dir, name));
    const last = new Set([layout.pidFile, layout.tagFile]);
    for (const name of entriesOf(layout)) {
      const path = join(layout.root, name);
      if (isOwnEntry(name) && !last.has(path)) remove(path);
    }
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { stderr, message } = error as Error & { stderr?: string };
    throw new UserError(
      `not all of ${layout.root} could be removed: ${(stderr ?? '').trim() || message}. Try again.`,
      {
        cause: error,
      },
    );
  } finally {
    release();
  }
  rmSync(layout.tagFile, { force: true });
  const kept = entriesOf(layout);
  if (kept.length === 0) removeEmptyDirectory(layout.root);
  return { ...result, kept };
}

/**
 * Ends all containers of a cluster that does not run. Idempotent. Returns their number, and network
 * namespaces of pods.
 */
export async function endContainers(
  root: string,
  clock: Clock,
): Promise<{ readonly processes: number; readonly namespaces: ReadonlySet<string> }> {
  const namespaces = new Set<string>();
  let processes = 0;
  for (const dir of pathsOf(root)) {
    const { runtime, containerd } = dataDirLayout(dir);
    processes += await killContainers(runtime, clock);
    const remains = containerdRemains(containerd);
    processes += await killContainerd(containerd, clock);
    removeRemains(remains);
    for (const name of remains.networkNamespaces) namespaces.add(name);
  }
  return { processes, namespaces };
}

/** Returns what is still there of a cluster that has stopped: containers outlive it by design. */
export function leftoversOf(dataDir: string): Leftovers {
  const layout = dataDirLayout(dataDir);
  const processes = pathsOf(layout.root).flatMap((dir) => {
    const { runtime, containerd } = dataDirLayout(dir);
    return [...containerProcesses(runtime), ...containerdProcesses(containerd).all];
  });
  return { processes: new Set(processes).size, mounts: mountsBelow(layout.root).length };
}

/** A full disk has no room for a claim, and a reset is what makes room. */
async function claim(layout: DataDirLayout): Promise<() => void> {
  try {
    const release = await claimDataDir(layout);
    tagDataDir(layout);
    return release;
  } catch (error) {
    if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOSPC')
      throw error;
    return () => undefined;
  }
}

/** Returns the directory by the name that was given and by its real one: processes and mounts may have either. */
export function pathsOf(root: string): readonly string[] {
  return [...new Set([root, realPath(root)])];
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return path;
    throw error;
  }
}

/** Mount points below the directory, without itself, the latest first. */
function mountsBelow(dir: string): readonly string[] {
  if (process.platform !== 'linux') return [];
  const real = realPath(dir);
  return parseMountPoints(readFileSync('/proc/self/mountinfo', 'utf8'))
    .filter((point) => point.startsWith(`${real}/`))
    .toReversed();
}

/**
 * Unmounts all that is mounted below the directory. Returns how much it was. Throws UserError for
 * what stays mounted.
 */
export async function unmountBelow(dir: string): Promise<number> {
  const points = mountsBelow(dir);
  for (const point of points) {
    try {
      await run('umount', ['--no-canonicalize', point]);
    } catch {
      // The mount is in use by a process outside of the cluster, or gone with its parent mount.
      // Remaining mounts are checked below.
      if (mountsBelow(dir).includes(point))
        await run('umount', ['--no-canonicalize', '--lazy', point]).catch(() => undefined);
    }
  }
  const left = mountsBelow(dir);
  if (left.length === 0) {
    await detachLoopDevices(join(realPath(dir), 'csi'));
    return points.length;
  }
  throw new UserError(
    `cannot unmount ${left.join(', ')}: unmount it and try again. No file was removed.`,
  );
}

/** Detaches the devices of images below the directory: volumes of the CSI driver. */
async function detachLoopDevices(dir: string): Promise<void> {
  if (process.platform !== 'linux' || lstatSync(dir, { throwIfNoEntry: false }) === undefined)
    return;
  const options = ['--list', '--noheadings', '--raw', '--output', 'NAME,BACK-FILE'];
  const { stdout } = await run('losetup', options);
  for (const line of stdout.split('\n')) {
    const space = line.indexOf(' ');
    if (space > 0 && line.slice(space + 1).startsWith(`${dir}/`))
      await run('losetup', ['--detach', line.slice(0, space)]);
  }
}

/** Removes a tree. Links are removed, not followed. Throws UserError if something is mounted at or below its path. */
function remove(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) {
    const real = realPath(path);
    const mounted = mountsBelow(dirname(real)).find(
      (point) => point === real || point.startsWith(`${real}/`),
    );
    if (mounted !== undefined)
      throw new UserError(`something is mounted at ${mounted}: unmount it and try again`);
  }
  rmSync(path, { recursive: true, force: true, maxRetries: 3 });
}

function removeEmptyDirectory(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    // A link, a mount point, or a directory in use cannot be removed; it is empty, which is enough.
    if (
      !['ENOTDIR', 'EBUSY', 'ENOTEMPTY', 'EPERM', 'EACCES', 'ENOENT'].includes(
        (error as NodeJS.ErrnoException).code ?? '',
      )
    )
      throw error;
  }
}
