// Reads what metrics.ts and the statistics of containers need: from cgroups, /proc and the file
// system of a container's changes.

import { readdir, readFile, readlink, statfs } from 'node:fs/promises';
import { walkTree } from '#machinery/files/directory.ts';
import type { Cgroups } from './cgroups.ts';

/** A clock tick of the statistics in cgroup v1, in seconds. */
const TICK_SECONDS = 0.01;
const BLOCK_BYTES = 512;
/** Processes and files beyond these are not counted. */
const MAX_PROCESSES = 2000;
const MAX_FILES = 500_000;

/** Returns the values of a container's metrics, by their names. */
export async function readContainer(
  cgroups: Cgroups,
  path: string,
  changes: string,
): Promise<Readonly<Record<string, number | undefined>>> {
  const usage = cgroups.usage(path);
  const cpu = cgroups.cpuDetails(path);
  const memory = cgroups.memoryDetails(path);
  const spec = cgroups.limits(path);
  const [open, disk, files] = await Promise.all([
    openFiles(cgroups.processes(path)),
    statfs(changes),
    changedFiles(changes),
  ]);
  return {
    container_cpu_cfs_periods_total: cpu.periods,
    container_cpu_cfs_throttled_periods_total: cpu.throttledPeriods,
    container_cpu_cfs_throttled_seconds_total: cpu.throttledSeconds,
    container_cpu_system_seconds_total: cpu.systemTicks * TICK_SECONDS,
    container_cpu_user_seconds_total: cpu.userTicks * TICK_SECONDS,
    container_cpu_usage_seconds_total: (usage?.cpuNanoseconds ?? 0) / 1e9,
    container_file_descriptors: open.descriptors,
    container_sockets: open.sockets,
    container_processes: usage?.processes,
    container_threads: open.threads,
    container_threads_max: spec.threads,
    container_fs_inodes_free: disk.ffree,
    container_fs_inodes_total: disk.files,
    container_fs_limit_bytes: disk.blocks * disk.bsize,
    container_fs_usage_bytes: files.bytes,
    container_memory_cache: memory.cache,
    container_memory_failcnt: memory.failures,
    'container_memory_failures_total/pgfault': usage?.pageFaults,
    'container_memory_failures_total/pgmajfault': usage?.majorPageFaults,
    container_memory_kernel_usage: memory.kernel,
    container_memory_mapped_file: memory.mapped,
    container_memory_max_usage_bytes: memory.max,
    container_memory_rss: usage?.residentBytes,
    container_memory_swap: memory.swap,
    container_memory_usage_bytes: usage?.usageBytes,
    container_memory_working_set_bytes: usage?.workingSetBytes,
    container_oom_events_total: cgroups.oomKills(path),
    container_spec_cpu_period: spec.cpuPeriod,
    container_spec_cpu_quota: spec.cpuQuota,
    container_spec_cpu_shares: spec.cpuShares,
    container_spec_memory_limit_bytes: spec.memory,
    container_spec_memory_reservation_limit_bytes: spec.memoryReservation,
    container_spec_memory_swap_limit_bytes: spec.swap,
  };
}

interface OpenFiles {
  descriptors: number;
  sockets: number;
  threads: number;
}

async function openFiles(pids: readonly number[]): Promise<OpenFiles> {
  const found: OpenFiles = { descriptors: 0, sockets: 0, threads: 0 };
  for (const pid of pids.slice(0, MAX_PROCESSES)) {
    const dir = `/proc/${pid}`;
    const status = await readFile(`${dir}/status`, 'utf8').catch(() => '');
    found.threads += Number(/^Threads:\s*(\d+)/m.exec(status)?.[1] ?? 0);
    for (const fd of await readdir(`${dir}/fd`).catch(() => [])) {
      const target = await readlink(`${dir}/fd/${fd}`).catch(() => undefined);
      if (target === undefined) continue;
      found.descriptors++;
      if (target.startsWith('socket:')) found.sockets++;
    }
  }
  return found;
}

/** Returns what a container has written to its root: bytes on the disk, and files. */
export async function changedFiles(
  changes: string,
): Promise<{ readonly bytes: number; readonly inodes: number }> {
  let bytes = 0;
  let inodes = 0;
  try {
    await walkTree(`${changes}/upper`, async ({ info }) => {
      if (inodes >= MAX_FILES) return;
      inodes++;
      bytes += info.blocks * BLOCK_BYTES;
    });
  } catch (error) {
    // The container is being removed, or changes its files at this moment.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ELOOP' && code !== 'ENOTDIR') throw error;
  }
  return { bytes, inodes };
}
