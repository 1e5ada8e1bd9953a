// Finds the clusters of this machine that have a process. Names in the kernel (tables of nftables,
// interfaces) contain hashes of data directories. A directory cannot be computed from its hash, so
// the hashes of the directories of all processes are compared with the names.

import { createHash } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type HostProcess, hostProcesses } from '#runtime/host-processes.ts';

/** The ten hexadecimal digits that identify a cluster in the names of its tables and interfaces. */
export const idOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 10);

/** Directories of clusters that run without --data-dir. */
const DEFAULT_DIRECTORIES = ['.coxswain', '.coxswain-node'];

/** Returns the ids in names that a cluster with this data directory has on the machine. */
export function idsOf(dataDir: string): readonly string[] {
  return [
    idOf(dataDir),
    idOf(join(dataDir, 'containerd')),
    idOf(`announced coxswain-${idOf(dataDir)}`),
  ];
}

/**
 * Returns the ids of all clusters that a process belongs to: a server, a container runtime or what runs in its
 * containers. A process counts if its command line, an open file, or its root file system names a path in a directory;
 * too many ids do no harm.
 */
export function liveIds(processes: readonly HostProcess[] = hostProcesses()): ReadonlySet<string> {
  const directories = new Set<string>();
  for (const one of processes) for (const path of pathsOf(one)) addWithParents(directories, path);
  return new Set([...directories].flatMap(idsOf));
}

function pathsOf(one: HostProcess): readonly string[] {
  const cwd = workingDirectory(one.pid);
  const args = one.args.flatMap((arg) => {
    const value = arg.startsWith('-') && arg.includes('=') ? arg.slice(arg.indexOf('=') + 1) : arg;
    return value === '' || value.startsWith('-') ? [] : [resolve(cwd ?? '/', value)];
  });
  const program = one.args[0] ?? '';
  const isServer = /(?:^|\/)(?:node|cox|coxswain)$/.test(program);
  const defaults =
    isServer && cwd !== undefined ? DEFAULT_DIRECTORIES.map((name) => join(cwd, name)) : [];
  const root = one
    .info('mountinfo')
    .split('\n')
    .find((line) => line.split(' ')[4] === '/');
  const layers = (root ?? '').split(/[\s=:,]/).filter((part) => part.startsWith('/'));
  return [
    ...args,
    ...defaults,
    ...layers,
    ...one.openFiles().filter((path) => path.startsWith('/')),
  ];
}

function addWithParents(directories: Set<string>, path: string): void {
  for (let directory = path; !directories.has(directory); directory = dirname(directory))
    directories.add(directory);
}

function workingDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // The process has ended, or belongs to another user.
    return undefined;
  }
}
