// Reads a process's resident memory and processor time from /proc.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Returns the resident memory in MB (10^6 bytes). */
export function residentMB(pid: number): number {
  const status = `/proc/${pid}/status`;
  const kib = existsSync(status)
    ? Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1])
    : Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }));
  return (kib * 1024) / 1e6;
}

/** Returns the peak resident memory so far, in MB (10^6 bytes). NaN on a system without /proc. */
export function peakResidentMB(pid: number): number {
  const status = `/proc/${pid}/status`;
  if (!existsSync(status)) return Number.NaN;
  return (Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1]) * 1024) / 1e6;
}

/**
 * Returns the processor time so far of all threads, in ms, in steps of 10 ms. NaN on a system
 * without /proc.
 */
export function cpuMs(pid: number): number {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return Number.NaN;
  // The fields after the name in parentheses; fields 14 and 15 of proc(5) are user and system time,
  // in ticks of 10 ms.
  const stat = readFileSync(path, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/**
 * Returns the processor time of all current threads, in ms. It is exact, as the kernel's scheduler
 * counts it; `cpuMs` counts ticks. NaN on a system without /proc.
 */
export function threadsMs(pid: number): number {
  const path = `/proc/${pid}/task`;
  if (!existsSync(path)) return Number.NaN;
  const times = readdirSync(path).map(
    (thread) => Number(readFileSync(`${path}/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
  );
  return times.reduce((sum, time) => sum + time, 0);
}

/**
 * Returns the processor time of the first thread so far, in ms: the time the work would take on an
 * idle processor. NaN on a system without /proc.
 */
export function mainThreadMs(pid: number): number {
  const path = `/proc/${pid}/task/${pid}/schedstat`;
  return existsSync(path) ? Number(readFileSync(path, 'utf8').split(' ')[0]) / 1e6 : Number.NaN;
}
