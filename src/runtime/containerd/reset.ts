// Kills a private containerd and everything that it runs, without its help: containerd and its
// shims may have been killed at any point.

import { readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import { descendantsOf, hostProcesses, killAll } from '../host-processes.ts';
import { pathsIn } from './launch.ts';

/** Matches a pod's network namespace, as containerd names it. */
const NETWORK_NAMESPACE = /\/run\/netns\/(cni-[0-9a-f-]{36})/g;
const CONTAINER_ID = /^[0-9a-f]{64}$/;

/**
 * Returns the processes of the containerd in `dir`: itself, its shims, their descendants, and all
 * processes in a control group or on a root file system of its containers (containers of a killed
 * shim have another parent).
 */
export function containerdProcesses(dir: string): {
  readonly all: readonly number[];
  readonly shims: number;
} {
  const { configFile, socket } = pathsIn(dir);
  const ids = containerIds(dir);
  const processes = hostProcesses();
  const containerds = processes.filter(
    ({ args }) => args[1] === '--config' && args[2] === configFile,
  );
  const shims = processes.filter(
    ({ args }) =>
      args[0]?.includes('containerd-shim') === true &&
      args[args.indexOf('-address') + 1] === socket,
  );
  const own = new Set([...containerds, ...shims].map(({ pid }) => pid));
  const contained = descendantsOf(own, processes);
  const others = processes.filter(
    (one) =>
      !own.has(one.pid) &&
      (inControlGroup(one.info('cgroup'), ids) || hasRootBelow(one.info('mountinfo'), dir)),
  );
  return {
    all: [...new Set([...own, ...[...contained, ...others].map(({ pid }) => pid)])],
    shims: shims.length,
  };
}

function inControlGroup(cgroups: string, ids: ReadonlySet<string>): boolean {
  return cgroups.split(/[/\n:-]/).some((part) => ids.has(part.replace(/\.scope$/, '')));
}

/**
 * Reports whether the root file system consists of directories below `dir`: the layers of an
 * overlay, or a bound directory.
 */
function hasRootBelow(mounts: string, dir: string): boolean {
  const root = mounts.split('\n').find((line) => line.split(' ')[4] === '/');
  return root !== undefined && root.includes(`${dir}/root/io.containerd.snapshotter`);
}

/** Returns the IDs of sandboxes and containers, from the names of their directories. */
function containerIds(dir: string): ReadonlySet<string> {
  const { root, state } = pathsIn(dir);
  const cri = 'io.containerd.grpc.v1.cri';
  const dirs = [
    join(state, 'io.containerd.runtime.v2.task', 'k8s.io'),
    ...[root, state].flatMap((base) => [
      join(base, cri, 'sandboxes'),
      join(base, cri, 'containers'),
    ]),
  ];
  return new Set(dirs.flatMap(entries).filter((name) => CONTAINER_ID.test(name)));
}

/**
 * State that containerd leaves outside of its directory. To be read before the directory is
 * deleted.
 */
export interface ContainerdRemains {
  /** Names of pods' network namespaces: files in /run/netns. Some may be gone. */
  readonly networkNamespaces: ReadonlySet<string>;
  /** The sockets of shims. */
  readonly sockets: readonly string[];
  readonly ids: ReadonlySet<string>;
}

export function containerdRemains(dir: string): ContainerdRemains {
  const { root, state, socket } = pathsIn(dir);
  const networkNamespaces = new Set<string>();
  // The names are searched in the bytes of containerd's database, which may be damaged. Names of
  // former pods are included: a name is never reused.
  const database = contents(join(root, 'io.containerd.metadata.v1.bolt', 'meta.db'));
  for (const [, name] of database.matchAll(NETWORK_NAMESPACE))
    networkNamespaces.add(name as string);
  const tasks = join(state, 'io.containerd.runtime.v2.task', 'k8s.io');
  const sockets = entries(tasks).flatMap((id) =>
    ['address', 'bootstrap.json'].flatMap(
      (file) =>
        /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]{64})/.exec(
          contents(join(tasks, id, file)),
        )?.[1] ?? [],
    ),
  );
  return {
    networkNamespaces,
    sockets: [...new Set(sockets), ...(socket.startsWith(`${dir}/`) ? [] : [socket])],
    ids: containerIds(dir),
  };
}

/** Kills containerd, its shims and all containers. Returns the number of processes. */
export async function killContainerd(dir: string, clock: Clock): Promise<number> {
  return killAll(() => containerdProcesses(dir).all, clock);
}

/** Removes sockets, and empty control groups of ended containers. */
export function removeRemains({ sockets, ids }: ContainerdRemains): void {
  for (const socket of sockets) rmSync(socket, { force: true });
  if (ids.size > 0) removeControlGroups('/sys/fs/cgroup', ids, 6);
}

function removeControlGroups(dir: string, ids: ReadonlySet<string>, depth: number): void {
  for (const name of subdirectories(dir)) {
    const path = join(dir, name);
    const owned = ids.has(name.replace(/^cri-containerd-|\.scope$/g, ''));
    if (owned) removeEmptyTree(path);
    else if (depth > 0) removeControlGroups(path, ids, depth - 1);
  }
}

function removeEmptyTree(path: string): void {
  for (const name of subdirectories(path)) removeEmptyTree(join(path, name));
  try {
    rmdirSync(path);
  } catch (error) {
    // The group is gone already, or the kernel is still busy with its last process: an empty group
    // costs nothing.
    if (
      !['ENOENT', 'EBUSY', 'ENOTEMPTY', 'EROFS'].includes(
        (error as NodeJS.ErrnoException).code ?? '',
      )
    )
      throw error;
  }
}

function subdirectories(path: string): readonly string[] {
  return missingAs([], () =>
    readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name),
  );
}

function entries(path: string): readonly string[] {
  return missingAs([], () => readdirSync(path));
}

/** Returns the bytes of the file as Latin-1 characters. */
function contents(path: string): string {
  return missingAs('', () => readFileSync(path, 'latin1'));
}

function missingAs<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return otherwise;
    throw error;
  }
}
