// The metrics of containers and pods that CRI lists, with cAdvisor's names: what a kubelet serves at
// /metrics/cadvisor. Pure: readings in, metrics out.

import { complete, type Input, type MetricDescriptor } from '#cri/index.ts';

/** The values of a container, read at one time. Missing values have no metric. */
export interface ContainerReading {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly values: Readonly<Record<string, number | undefined>>;
}

/** The counters of an interface of a pod. */
export interface InterfaceReading {
  readonly name: string;
  readonly receive: readonly [bytes: number, packets: number, errors: number, dropped: number];
  readonly transmit: readonly [bytes: number, packets: number, errors: number, dropped: number];
}

interface Definition {
  readonly help: string;
  readonly type: 'COUNTER' | 'GAUGE';
  /** Labels after `id`, `name` and `image`. */
  readonly labels?: readonly string[];
}

const counter = (help: string, ...labels: readonly string[]): Definition => ({
  help,
  type: 'COUNTER',
  labels,
});
const gauge = (help: string, ...labels: readonly string[]): Definition => ({
  help,
  type: 'GAUGE',
  labels,
});

const BASE_LABELS = ['id', 'name', 'image'];

/** Metrics of a container, by name. The readings have their values under the same names. */
const CONTAINER: Readonly<Record<string, Definition>> = {
  container_cpu_cfs_periods_total: counter('Number of elapsed enforcement period intervals.'),
  container_cpu_cfs_throttled_periods_total: counter('Number of throttled period intervals.'),
  container_cpu_cfs_throttled_seconds_total: counter(
    'Total time duration the container has been throttled.',
  ),
  container_cpu_system_seconds_total: counter('Cumulative system cpu time consumed in seconds.'),
  container_cpu_usage_seconds_total: counter('Cumulative cpu time consumed in seconds.', 'cpu'),
  container_cpu_user_seconds_total: counter('Cumulative user cpu time consumed in seconds.'),
  container_file_descriptors: gauge('Number of open file descriptors for the container.'),
  container_fs_inodes_free: gauge('Number of available Inodes.', 'device'),
  container_fs_inodes_total: gauge('Number of Inodes.', 'device'),
  container_fs_limit_bytes: gauge(
    'Number of bytes that can be consumed by the container on this filesystem.',
    'device',
  ),
  container_fs_usage_bytes: gauge(
    'Number of bytes that are consumed by the container on this filesystem.',
    'device',
  ),
  container_last_seen: gauge('Last time a container was seen by the exporter.'),
  container_memory_cache: gauge('Number of bytes of page cache memory.'),
  container_memory_failcnt: counter('Number of memory usage hits limits.'),
  container_memory_failures_total: counter(
    'Cumulative count of memory allocation failures.',
    'failure_type',
    'scope',
  ),
  container_memory_kernel_usage: gauge('Size of kernel memory allocated in bytes.'),
  container_memory_mapped_file: gauge('Size of memory mapped files in bytes.'),
  container_memory_max_usage_bytes: gauge('Maximum memory usage recorded in bytes.'),
  container_memory_rss: gauge('Size of RSS in bytes.'),
  container_memory_swap: gauge('Container swap usage in bytes.'),
  container_memory_usage_bytes: gauge(
    'Current memory usage in bytes, including all memory regardless of when it was accessed.',
  ),
  container_memory_working_set_bytes: gauge('Current working set in bytes.'),
  container_oom_events_total: counter('Count of out of memory events observed for the container.'),
  container_processes: gauge('Number of processes running inside the container.'),
  container_sockets: gauge('Number of open sockets for the container.'),
  container_spec_cpu_period: gauge('CPU period of the container.'),
  container_spec_cpu_quota: gauge('CPU quota of the container.'),
  container_spec_cpu_shares: gauge('CPU share of the container.'),
  container_spec_memory_limit_bytes: gauge('Memory limit for the container.'),
  container_spec_memory_reservation_limit_bytes: gauge(
    'Memory reservation limit for the container.',
  ),
  container_spec_memory_swap_limit_bytes: gauge('Memory swap limit for the container.'),
  container_start_time_seconds: gauge('Start time of the container since unix epoch in seconds.'),
  container_threads: gauge('Number of threads running inside the container.'),
  container_threads_max: gauge(
    'Maximum number of threads allowed inside the container, infinity if value is zero.',
  ),
  container_blkio_device_usage_total: counter(
    'Blkio Device bytes usage.',
    'device',
    'major',
    'minor',
    'operation',
  ),
  container_fs_reads_bytes_total: counter('Cumulative count of bytes read.', 'device'),
  container_fs_reads_total: counter('Cumulative count of reads completed.', 'device'),
  container_fs_writes_bytes_total: counter('Cumulative count of bytes written.', 'device'),
  container_fs_writes_total: counter('Cumulative count of writes completed.', 'device'),
};

const DIRECTIONS = ['receive', 'transmit'] as const;
const INTERFACE_COUNTS = ['bytes', 'packets', 'errors', 'packets_dropped'] as const;
const INTERFACE_HELP = {
  bytes: 'Cumulative count of bytes',
  packets: 'Cumulative count of packets',
  errors: 'Cumulative count of errors encountered',
  packets_dropped: 'Cumulative count of packets dropped',
} as const;

/** Returns the descriptions of all metrics. */
export function metricDescriptors(): readonly MetricDescriptor[] {
  return [
    ...Object.entries(CONTAINER).map(([name, { help, labels = [] }]) => ({
      name,
      help,
      labelKeys: [...BASE_LABELS, ...labels],
    })),
    ...DIRECTIONS.flatMap((direction) =>
      INTERFACE_COUNTS.map((count) => ({
        name: `container_network_${direction}_${count}_total`,
        help: `${INTERFACE_HELP[count]} while ${direction === 'receive' ? 'receiving' : 'transmitting'}.`,
        labelKeys: [...BASE_LABELS, 'interface'],
      })),
    ),
  ];
}

/** Values of labels that only one series of this runtime has. */
const LABEL_VALUES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  container_cpu_usage_seconds_total: [['total']],
  container_memory_failures_total: [
    ['pgfault', 'container'],
    ['pgmajfault', 'container'],
  ],
};

/**
 * Returns the metrics of a container. A value of several series is under its name and label, such
 * as container_memory_failures_total/pgfault. `now`: in nanoseconds.
 */
export function containerMetrics(
  { id, name, image, values }: ContainerReading,
  device: string,
  now: number,
): readonly Input<'Metric'>[] {
  const base = [id, name, image];
  return Object.entries(CONTAINER).flatMap(([metric, { type, labels = [] }]) => {
    const series = LABEL_VALUES[metric] ?? (labels.length === 0 ? [[]] : [[device]]);
    return series.flatMap((extra): readonly Input<'Metric'>[] => {
      const value = values[series.length > 1 ? `${metric}/${extra[0]}` : metric];
      if (value === undefined || extra.length !== labels.length) return [];
      return [
        {
          name: metric,
          timestamp: now,
          metricType: type,
          labelValues: [...base, ...extra],
          value: { value: Math.max(0, Math.round(value)) },
        },
      ];
    });
  });
}

/** Returns the metrics of a pod's network. */
export function networkMetrics(
  podId: string,
  name: string,
  interfaces: readonly InterfaceReading[],
  now: number,
): readonly Input<'Metric'>[] {
  return interfaces.flatMap((reading) =>
    DIRECTIONS.flatMap((direction) =>
      INTERFACE_COUNTS.map((count, i) => ({
        name: `container_network_${direction}_${count}_total`,
        timestamp: now,
        metricType: 'COUNTER' as const,
        labelValues: [podId, name, '', reading.name],
        value: { value: reading[direction][i]! },
      })),
    ),
  );
}

/** Parses /proc/PID/net/dev. The loopback interface is left out. */
export function parseInterfaces(text: string): readonly InterfaceReading[] {
  return text
    .split('\n')
    .slice(2)
    .flatMap((line) => {
      const [name = '', rest] = line.split(':');
      if (rest === undefined || name.trim() === 'lo') return [];
      const n = rest.trim().split(/\s+/).map(Number);
      return [
        {
          name: name.trim(),
          receive: [n[0]!, n[1]!, n[2]!, n[3]!],
          transmit: [n[8]!, n[9]!, n[10]!, n[11]!],
        },
      ];
    });
}

/** Returns the message with all fields. */
export const podMetrics = (
  podSandboxId: string,
  metrics: readonly Input<'Metric'>[],
  containerMetricsOf: readonly Input<'ContainerMetrics'>[],
): ReturnType<typeof complete<'PodSandboxMetrics'>> =>
  complete('PodSandboxMetrics', { podSandboxId, metrics, containerMetrics: containerMetricsOf });
