// cAdvisor's families whose values come from cgroups, as a table.

import type { CgroupStats, DeviceCounters } from '../cgroups/types.ts';

export interface CgroupFamily {
  readonly type: 'counter' | 'gauge';
  readonly name: string;
  readonly help: string;
  readonly value: (stats: CgroupStats) => number | undefined;
}

const seconds = (nanoseconds: number | undefined): number | undefined =>
  nanoseconds === undefined ? undefined : nanoseconds / 1e9;
const fromMicroseconds = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : value / 1e6;

const counter = (name: string, help: string, value: CgroupFamily['value']): CgroupFamily => ({
  type: 'counter',
  name: `container_${name}`,
  help,
  value,
});
const gauge = (name: string, help: string, value: CgroupFamily['value']): CgroupFamily => ({
  ...counter(name, help, value),
  type: 'gauge',
});

/** A container without a quota has no periods, as in cAdvisor. */
const hasQuota = ({ cpu }: CgroupStats): boolean => (cpu.periods ?? 0) > 0;

export const CGROUP_FAMILIES: readonly CgroupFamily[] = [
  counter('cpu_user_seconds_total', 'CPU time in user mode.', ({ cpu }) =>
    seconds(cpu.userNanoseconds),
  ),
  counter('cpu_system_seconds_total', 'CPU time in the kernel.', ({ cpu }) =>
    seconds(cpu.systemNanoseconds),
  ),
  counter('cpu_cfs_periods_total', 'Periods in which a quota was enforced.', (stats) =>
    hasQuota(stats) ? stats.cpu.periods : undefined,
  ),
  counter('cpu_cfs_throttled_periods_total', 'Periods in which the quota was used up.', (stats) =>
    hasQuota(stats) ? stats.cpu.throttledPeriods : undefined,
  ),
  counter('cpu_cfs_throttled_seconds_total', 'Time of waiting for the next period.', (stats) =>
    hasQuota(stats) ? seconds(stats.cpu.throttledNanoseconds) : undefined,
  ),
  gauge('memory_cache', 'File cache.', ({ memory }) => memory.cache),
  gauge('memory_mapped_file', 'Mapped files.', ({ memory }) => memory.mappedFile),
  gauge('memory_max_usage_bytes', 'The highest usage.', ({ memory }) => memory.maxUsage),
  gauge('memory_kernel_usage', 'Memory of the kernel.', ({ memory }) => memory.kernel),
  counter('memory_failcnt', 'How often the limit was hit.', ({ memory }) => memory.failures),
  gauge(
    'memory_total_active_file_bytes',
    'File cache that was used lately.',
    ({ memory }) => memory.activeFile,
  ),
  gauge(
    'memory_total_inactive_file_bytes',
    'File cache that was not used lately.',
    ({ memory }) => memory.inactiveFile,
  ),
  counter(
    'oom_events_total',
    'Processes that were killed for memory.',
    ({ memory }) => memory.oomKills,
  ),
  gauge('threads', 'Processes and threads.', ({ pids }) => pids),
  gauge('threads_max', 'The limit of processes and threads; 0 for none.', ({ pidsLimit }) =>
    pidsLimit === Number.POSITIVE_INFINITY ? 0 : pidsLimit,
  ),
  ...(['cpu', 'memory', 'io'] as const).flatMap((resource) => [
    counter(
      `pressure_${resource}_stalled_seconds_total`,
      `Time in which all tasks waited for ${resource}.`,
      ({ pressure }) => fromMicroseconds(pressure[resource]?.fullMicroseconds),
    ),
    counter(
      `pressure_${resource}_waiting_seconds_total`,
      `Time in which some tasks waited for ${resource}.`,
      ({ pressure }) => fromMicroseconds(pressure[resource]?.someMicroseconds),
    ),
  ]),
];

export interface DeviceFamily {
  readonly name: string;
  readonly help: string;
  readonly value: (device: DeviceCounters) => number;
}

/** Counters with the label device. */
export const DEVICE_FAMILIES: readonly DeviceFamily[] = [
  { name: 'container_fs_reads_bytes_total', help: 'Bytes read.', value: (d) => d.readBytes },
  { name: 'container_fs_reads_total', help: 'Reads.', value: (d) => d.reads },
  {
    name: 'container_fs_writes_bytes_total',
    help: 'Bytes written.',
    value: (d) => d.writtenBytes,
  },
  { name: 'container_fs_writes_total', help: 'Writes.', value: (d) => d.writes },
];
