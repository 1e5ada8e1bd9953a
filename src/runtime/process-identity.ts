// A process that outlives the one that started it, found again: by pid and the time at which it was started, since a pid alone
// may be somebody else's by now.

import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks after boot, as in /proc/PID/stat, together with the boot's id. */
  readonly startTime: string;
}

let bootId: string | undefined;

function currentBootId(): string {
  bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return bootId;
}

interface ProcessStat {
  readonly state: string;
  readonly processGroup: number;
  readonly startTicks: string;
}

/** Undefined if there is no such process. */
export function readStat(pid: number): ProcessStat | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses, which may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0]!, processGroup: Number(fields[2]), startTicks: fields[19]! };
}

/** The identity of a process that runs; undefined if it does not (a zombie does not run). */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid);
  if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
  return { pid, startTime: `${currentBootId()}:${stat.startTicks}` };
}

/** Whether that very process still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startTime === identity.startTime;
}

/** Sends a signal to that very process, or with `group` to its process group. False if it is gone. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals | number, group = false): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(group ? -identity.pid : identity.pid, signal);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw err;
  }
}
