// The resource usage of containers' processes, from /proc. A container is a process group, so one
// scan of /proc serves all containers.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readStat } from '../process-identity.ts';

export interface Usage {
  processes: number;
  /** The CPU time of running processes and their awaited children. */
  cpuNanoseconds: number;
  residentBytes: number;
}

/** The length of a tick, on every Linux that Node runs on. */
const TICK_NANOSECONDS = 10_000_000;

export function hasStats(): boolean {
  return existsSync('/proc/self/stat');
}

function residentBytes(pid: number): number {
  try {
    const kibibytes = /^VmRSS:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kibibytes ?? 0) * 1024;
  } catch {
    // The process has ended meanwhile.
    return 0;
  }
}

/** Returns the usage of these process groups. A scan reads little of other processes. */
export function usageByGroup(groups: ReadonlySet<number>): Map<number, Usage> {
  const usage = new Map<number, Usage>();
  if (groups.size === 0) return usage;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? readStat(pid) : undefined;
    if (stat === undefined || !groups.has(stat.processGroup)) continue;
    const group = usage.get(stat.processGroup) ?? {
      processes: 0,
      cpuNanoseconds: 0,
      residentBytes: 0,
    };
    group.processes++;
    group.cpuNanoseconds += stat.cpuTicks * TICK_NANOSECONDS;
    group.residentBytes += residentBytes(pid);
    usage.set(stat.processGroup, group);
  }
  return usage;
}

/**
 * Returns the group leader with this environment variable; undefined if there is none. Needed only
 * after a crash.
 */
export function findGroupLeader(variable: string): number | undefined {
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || readStat(pid)?.processGroup !== pid) continue;
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(variable)) return pid;
    } catch {
      // The process is gone, or belongs to another user.
    }
  }
  return undefined;
}
