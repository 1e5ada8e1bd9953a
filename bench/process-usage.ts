// What a process uses, as the system counts it: memory that is resident, and processor time.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Resident memory in MB (10^6 bytes). */
export function residentMB(pid: number): number {
  const status = `/proc/${pid}/status`;
  const kib = existsSync(status)
    ? Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1])
    : Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }));
  return (kib * 1024) / 1e6;
}

/** The most memory that was resident so far, in MB (10^6 bytes). NaN where there is no /proc. */
export function peakResidentMB(pid: number): number {
  const status = `/proc/${pid}/status`;
  if (!existsSync(status)) return Number.NaN;
  return (Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1]) * 1024) / 1e6;
}

/**
 * Processor time used so far, of all threads, in ms; good to 10 ms. NaN where there is no /proc.
 */
export function cpuMs(pid: number): number {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return Number.NaN;
  // After the name in parentheses; fields 14 and 15 of proc(5) are user and system time, in ticks
  // of 10 ms.
  const stat = readFileSync(path, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/**
 * Processor time of all threads that it has now, in ms, as the scheduler counts it: exact, where
 * `cpuMs` counts ticks. NaN where there is no /proc.
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
 * Processor time of its first thread so far, in ms: what it would have taken, had nothing else
 * wanted a processor. NaN where there is no /proc.
 */
export function mainThreadMs(pid: number): number {
  const path = `/proc/${pid}/task/${pid}/schedstat`;
  return existsSync(path) ? Number(readFileSync(path, 'utf8').split(' ')[0]) / 1e6 : Number.NaN;
}
