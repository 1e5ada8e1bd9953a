// Observes a Linux machine: /proc and statfs(2). Both do not depend on the version of cgroups.

import { readFile, stat, statfs } from 'node:fs/promises';
import { directoryUsage } from './directory-usage.ts';
import { maxTasks, runningTasks } from './proc-files.ts';
import type { FileSystemState, FsUsage, NodeSystem, Supply } from './system.ts';

export class LinuxSystem implements NodeSystem {
  readonly #proc: string;

  /** Creates a system. `proc`: the mount point of procfs. */
  constructor(proc = '/proc') {
    this.#proc = proc;
  }

  /**
   * The working set is computed as for the root cgroup: all used memory, except file cache that was
   * not used lately.
   */
  async memory(): Promise<Supply | undefined> {
    const meminfo = await readIfExists(`${this.#proc}/meminfo`);
    if (meminfo === undefined) return undefined;
    const bytes = (name: string): number =>
      Number(new RegExp(`^${name}: *(\\d+) kB$`, 'm').exec(meminfo)?.[1] ?? 0) * 1024;
    const capacity = bytes('MemTotal');
    const used = capacity - bytes('MemFree');
    return { capacity, available: capacity - Math.max(0, used - bytes('Inactive\\(file\\)')) };
  }

  async processes(): Promise<Supply | undefined> {
    const [pidMax, threadsMax, loadavg] = await Promise.all([
      readIfExists(`${this.#proc}/sys/kernel/pid_max`),
      readIfExists(`${this.#proc}/sys/kernel/threads-max`),
      readIfExists(`${this.#proc}/loadavg`),
    ]);
    const capacity = maxTasks(pidMax, threadsMax);
    const running = runningTasks(loadavg);
    if (running === undefined || capacity === undefined) return undefined;
    return { capacity, available: capacity - running };
  }

  async fileSystem(path: string): Promise<FileSystemState | undefined> {
    try {
      const [{ dev }, { blocks, bfree, bavail, bsize, files, ffree }] = await Promise.all([
        stat(path),
        statfs(path),
      ]);
      return {
        device: dev,
        capacityBytes: blocks * bsize,
        availableBytes: bavail * bsize,
        usedBytes: (blocks - bfree) * bsize,
        inodes: files,
        inodesFree: ffree,
      };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  usageOf(path: string, signal: AbortSignal): Promise<FsUsage | undefined> {
    return directoryUsage(path, signal);
  }
}

async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
