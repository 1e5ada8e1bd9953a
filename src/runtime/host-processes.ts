// The processes of this host, from /proc: finds and kills groups of processes. Without /proc, none
// is found.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Clock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import {
  identify,
  isAlive,
  type ProcessIdentity,
  readStat,
  signalProcess,
} from './process-identity.ts';

/**
 * A process that ran when the list was made. Each method returns an empty value once the process
 * has ended, or if it is not readable.
 */
export interface HostProcess {
  readonly pid: number;
  readonly parent: number;
  readonly processGroup: number;
  /** The command line; empty for kernel threads. */
  readonly args: readonly string[];
  /** Returns the environment as NAME=VALUE, as at the start of the program. */
  environment(): readonly string[];
  /** Returns the targets of its open file descriptors. */
  openFiles(): readonly string[];
  /** Returns the text of a file in /proc/PID, such as 'cgroup' or 'mountinfo'. */
  info(name: string): string;
}

/** Lists every process of this host except this one. */
export function hostProcesses(): readonly HostProcess[] {
  return names('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name): readonly HostProcess[] => {
      const stat = readStat(Number(name));
      if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return [];
      const { parent, processGroup } = stat;
      return [
        {
          pid: Number(name),
          parent,
          processGroup,
          args: text(`/proc/${name}/cmdline`).split('\0').slice(0, -1),
          environment: () => text(`/proc/${name}/environ`).split('\0'),
          openFiles: () => names(`/proc/${name}/fd`).map((fd) => link(`/proc/${name}/fd/${fd}`)),
          info: (file) => text(`/proc/${name}/${file}`),
        },
      ];
    });
}

/**
 * Returns the processes of `all` that descend from `ancestors`, without the ancestors themselves.
 */
export function descendantsOf(
  ancestors: ReadonlySet<number>,
  all: readonly HostProcess[],
): readonly HostProcess[] {
  const children = new Map<number, HostProcess[]>();
  for (const one of all) children.set(one.parent, [...(children.get(one.parent) ?? []), one]);
  const found = new Set<HostProcess>();
  const visit = (pid: number): void => {
    for (const child of children.get(pid) ?? []) {
      if (found.has(child)) continue;
      found.add(child);
      visit(child.pid);
    }
  };
  for (const pid of ancestors) visit(pid);
  return [...found].filter(({ pid }) => !ancestors.has(pid));
}

/** How long a killed process may take to end, in milliseconds. */
const KILL_TIMEOUT_MS = 10_000;

/**
 * Kills the processes that `find` returns, and repeats until it returns none, because they may
 * start others meanwhile. Returns the number of killed processes. Rejects if one does not end
 * within ten seconds (it waits for a device, or belongs to another user).
 */
export async function killAll(find: () => readonly number[], clock: Clock): Promise<number> {
  const killed = new Set<number>();
  const deadline = clock.monotonic() + 3 * KILL_TIMEOUT_MS;
  for (;;) {
    const running = find().flatMap((pid) => identify(pid) ?? []);
    if (running.length === 0) return killed.size;
    if (clock.monotonic() > deadline)
      throw new Error(`new processes start as fast as they are killed: ${list(running)}`);
    for (const one of running) {
      killed.add(one.pid);
      signalProcess(one, 'SIGKILL');
    }
    try {
      await wait.pollImmediately(
        { clock, intervalMs: 10, timeoutMs: KILL_TIMEOUT_MS },
        () => !running.some(isAlive),
      );
    } catch (error) {
      if (!(error instanceof wait.WaitTimeoutError)) throw error;
      throw new Error(`killed, but still there: ${list(running.filter(isAlive))}`, {
        cause: error,
      });
    }
  }
}

const list = (processes: readonly ProcessIdentity[]): string =>
  `process ${processes.map(({ pid }) => pid).join(', ')}`;

// A process may end at any time, or belong to another user: the text is then empty.
function text(path: string): string {
  return readOr('', () => readFileSync(path, 'utf8'));
}

function names(path: string): readonly string[] {
  return readOr([], () => readdirSync(path));
}

function link(path: string): string {
  return readOr('', () => readlinkSync(path));
}

const GONE = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'EINVAL', 'ENOTDIR']);

function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (GONE.has((error as NodeJS.ErrnoException).code ?? '')) return otherwise;
    throw error;
  }
}
