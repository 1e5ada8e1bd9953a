// Identifies a process across restarts of this program: by pid and start time, since a pid alone
// may be reused.

import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks after boot with the boot's ID, from /proc; without /proc, the date from ps. */
  readonly startTime: string;
}

let bootId: string | undefined;

function currentBootId(): string {
  bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return bootId;
}

export interface ProcessStat {
  readonly state: string;
  readonly parent: number;
  readonly processGroup: number;
  readonly startTicks: string;
  /** The CPU time of the process and of its awaited children, in ticks (hundredths of a second). */
  readonly cpuTicks: number;
}

/** Longer than any line of numbers in /proc/PID/stat. */
const statBuffer = Buffer.alloc(4096);

/** Reads a process from /proc. Returns undefined if the process or /proc does not exist. */
export function readStat(pid: number): ProcessStat | undefined {
  let stat: string;
  try {
    // A scan of all processes reads many of these: readFileSync takes twice as long.
    const file = openSync(`/proc/${pid}/stat`, 'r');
    try {
      stat = statBuffer.toString('latin1', 0, readSync(file, statBuffer));
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses, which may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpuTicks = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
  return {
    state: fields[0]!,
    parent: Number(fields[1]),
    processGroup: Number(fields[2]),
    startTicks: fields[19]!,
    cpuTicks,
  };
}

const hasProc = existsSync('/proc/self/stat');

/** Identifies a process with ps, for systems without /proc. */
function identifyByPs(pid: number): ProcessIdentity | undefined {
  let line: string;
  try {
    line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
    }).trim();
  } catch {
    // ps fails if the process does not exist.
    return undefined;
  }
  const [state, ...started] = line.split(/\s+/);
  return state === undefined || state === '' || state.startsWith('Z')
    ? undefined
    : { pid, startTime: started.join(' ') };
}

/** Returns the identity of a running process; undefined if it does not run (a zombie does not). */
export function identify(pid: number): ProcessIdentity | undefined {
  if (!hasProc) return identifyByPs(pid);
  const stat = readStat(pid);
  if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
  return { pid, startTime: `${currentBootId()}:${stat.startTicks}` };
}

/** Reports whether the process with this identity still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startTime === identity.startTime;
}

/**
 * Sends a signal to the process with this identity, or with `group` to its process group. Returns
 * false if it is gone.
 */
export function signalProcess(
  identity: ProcessIdentity,
  signal: NodeJS.Signals | number,
  group = false,
): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(group ? -identity.pid : identity.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
