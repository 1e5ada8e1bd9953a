// The order in which pods are evicted for a resource: upstream's.
//
// - Memory and disk: pods above their request first, then by priority, then by usage above the
//   request.
// - Processes: by priority, then by the number of processes.
//
// QoS classes do not count by themselves. They follow from the first rule: a Guaranteed pod cannot
// be above its request of memory for long, and a BestEffort pod always is.

import { podUid, type Pod } from '../types.ts';
import { type DiskPart, podDiskUsage, type PodStats, type StatsOfPods } from './pod-stats.ts';
import { requestOf } from './requests.ts';
import { isMemorySignal, resourceOf, type Signal } from './signals.ts';
import type { DiskLayout } from './thresholds.ts';

/** Returns the pods, the first to be evicted first. Pods that are equal keep their order. */
export function rankPods(
  pods: readonly Pod[],
  stats: StatsOfPods,
  signal: Signal,
  layout: DiskLayout,
): readonly Pod[] {
  const compare = comparison(signal, layout);
  return pods
    .map((pod) => ({ pod, stats: stats.get(podUid(pod)) }))
    .toSorted(compare)
    .map(({ pod }) => pod);
}

interface Candidate {
  readonly pod: Pod;
  readonly stats: PodStats | undefined;
}

type Comparison = (a: Candidate, b: Candidate) => number;

function comparison(signal: Signal, layout: DiskLayout): Comparison {
  if (signal === 'pid.available')
    return inOrder(
      byPriority,
      mostOf((stats) => stats.processes ?? 0),
    );
  if (isMemorySignal(signal)) {
    const used = (stats: PodStats): number => stats.memoryBytes ?? 0;
    return inOrder(
      exceedingFirst((stats, pod) => used(stats) > requestOf(pod, 'memory')),
      byPriority,
      mostOf((stats, pod) => used(stats) - requestOf(pod, 'memory')),
    );
  }
  const key = resourceOf(signal) === 'inodes' ? 'inodesUsed' : 'usedBytes';
  const parts = diskParts(signal, layout);
  const used = (stats: PodStats, pod: Pod): number => podDiskUsage(pod, stats, parts, key);
  // Inodes cannot be requested, so every inode exceeds the request. The final comparison is still
  // relative to the request of storage.
  const requested = (pod: Pod): number =>
    key === 'usedBytes' ? requestOf(pod, 'ephemeral-storage') : 0;
  return inOrder(
    exceedingFirst((stats, pod) => used(stats, pod) > requested(pod)),
    byPriority,
    mostOf((stats, pod) => used(stats, pod) - requestOf(pod, 'ephemeral-storage')),
  );
}

/** Returns the parts of a pod that use the file system of the signal. */
function diskParts(signal: Signal, layout: DiskLayout): readonly DiskPart[] {
  if (!layout.dedicatedImageFs) return ['rootfs', 'logs', 'volumes'];
  if (signal.startsWith('imagefs.')) return layout.splitContainerFs ? [] : ['rootfs'];
  if (layout.splitContainerFs) return ['logs', 'volumes', 'rootfs'];
  return signal.startsWith('containerfs.') ? ['rootfs'] : ['logs', 'volumes'];
}

function inOrder(...comparisons: readonly Comparison[]): Comparison {
  return (a, b) => {
    for (const compare of comparisons) {
      const result = compare(a, b);
      if (result !== 0) return result;
    }
    return 0;
  };
}

const byPriority: Comparison = (a, b) => (a.pod.spec.priority ?? 0) - (b.pod.spec.priority ?? 0);

/** Pods without statistics precede the others. */
function exceedingFirst(exceeds: (stats: PodStats, pod: Pod) => boolean): Comparison {
  return (a, b) => {
    if (a.stats === undefined || b.stats === undefined) return unknownFirst(a, b);
    return Number(exceeds(b.stats, b.pod)) - Number(exceeds(a.stats, a.pod));
  };
}

function mostOf(amount: (stats: PodStats, pod: Pod) => number): Comparison {
  return (a, b) => {
    if (a.stats === undefined || b.stats === undefined) return unknownFirst(a, b);
    return amount(b.stats, b.pod) - amount(a.stats, a.pod);
  };
}

function unknownFirst(a: Candidate, b: Candidate): number {
  return Number(b.stats === undefined) - Number(a.stats === undefined);
}
