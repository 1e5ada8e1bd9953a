// The processes of this host, from /proc: found by what they are, and ended together. Where there
// is no /proc, none is found.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Clock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { identify, isAlive, readStat, signalProcess } from './process-identity.ts';
import type { ProcessIdentity } from './process-identity.ts';

/**
 * A process that ran when the list was made. Each reader returns an empty value once the process
 * has ended, or is not readable.
 */
export interface HostProcess {
  readonly pid: number;
  readonly parent: number;
  readonly processGroup: number;
  /** The command line; empty for threads of the kernel. */
  readonly args: readonly string[];
  /** NAME=VALUE, as at the start of the program. */
  environment(): readonly string[];
  /** Targets of its open file descriptors. */
  openFiles(): readonly string[];
  /** The text of a file in /proc/PID, such as 'cgroup' or 'mountinfo'. */
  info(name: string): string;
}

/** Lists every process of this host but this one. */
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
 * Returns the processes of `all` that descend from one of `ancestors`, without those themselves.
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

/** How long a killed process may take to end. */
const KILL_TIMEOUT_MS = 10_000;

/**
 * Kills the processes that `find` returns, and looks again until it returns none: they may start
 * others meanwhile. Returns how many were killed. Rejects if one does not end within ten seconds
 * (it waits for a device, or is not ours to signal).
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

// A process may end, or be another user's, at any of these: there is then nothing to read.
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
