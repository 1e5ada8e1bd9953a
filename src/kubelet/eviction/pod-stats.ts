// The usage of a pod that evictions are decided by.

import type { FsUsage } from '../node/system.ts';
import type { Pod, Volume } from '../types.ts';

export interface ContainerStatsForEviction {
  readonly name: string;
  readonly memoryBytes?: number;
  /** The writable layer. */
  readonly rootfs?: FsUsage;
  readonly logs?: FsUsage;
}

export interface PodStats {
  /** The working set of the pod. */
  readonly memoryBytes?: number;
  readonly processes?: number;
  readonly containers: readonly ContainerStatsForEviction[];
  /** The measured volumes, by name. */
  readonly volumes: ReadonlyMap<string, FsUsage>;
  /** Files of the pod besides volumes and containers, such as its /etc/hosts. */
  readonly other?: FsUsage;
}

/** By UID of the pod. A pod without statistics is the first to be evicted. */
export type StatsOfPods = ReadonlyMap<string, PodStats>;

/** The parts of a pod's disk usage that a file system has. */
export type DiskPart = 'rootfs' | 'logs' | 'volumes';

/** Reports whether the volume's data counts as ephemeral storage of the node. */
export function isLocalEphemeral(volume: Volume): boolean {
  return (
    (volume.emptyDir !== undefined && (volume.emptyDir.medium ?? '') === '') ||
    volume.configMap !== undefined ||
    volume.gitRepo !== undefined
  );
}

/** Returns the bytes or inodes of the given parts of the pod. */
export function podDiskUsage(
  pod: Pod,
  stats: PodStats,
  parts: readonly DiskPart[],
  key: keyof FsUsage,
): number {
  let sum = 0;
  for (const { rootfs, logs } of stats.containers) {
    if (parts.includes('rootfs')) sum += rootfs?.[key] ?? 0;
    if (parts.includes('logs')) sum += logs?.[key] ?? 0;
  }
  if (parts.includes('volumes'))
    for (const volume of pod.spec.volumes ?? [])
      if (isLocalEphemeral(volume)) sum += stats.volumes.get(volume.name)?.[key] ?? 0;
  return sum;
}

/** Returns the bytes of ephemeral storage that count against the pod's limit. */
export function ephemeralBytes(pod: Pod, stats: PodStats): number {
  return (
    podDiskUsage(pod, stats, ['rootfs', 'logs', 'volumes'], 'usedBytes') +
    (stats.other?.usedBytes ?? 0)
  );
}
