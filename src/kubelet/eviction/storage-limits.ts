// Limits of local storage: sizes of emptyDir volumes, and ephemeral storage of pods and containers.
// The kernel does not enforce them, so pods above a limit are evicted.

import { newQuantity, parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import { podLimits } from '../pod/resources.ts';
import type { Pod } from '../types.ts';
import { ephemeralBytes, type PodStats } from './pod-stats.ts';

/** The label of the metric of evictions. */
export type StorageLimitSignal =
  | 'emptydirfs.limit'
  | 'ephemeralpodfs.limit'
  | 'ephemeralcontainerfs.limit';

export interface StorageViolation {
  readonly signal: StorageLimitSignal;
  readonly message: string;
}

const RESOURCE = 'ephemeral-storage';

/** Reports whether the pod has a limit of local storage, so that its usage must be measured. */
export function hasStorageLimit(pod: Pod): boolean {
  return (
    (pod.spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) ||
    storageLimitsOf(pod).length > 0
  );
}

/**
 * Returns the first limit that the pod exceeds. `dedicatedImageFs`: writable layers are not on the
 * node's file system, and do not count against limits of containers.
 */
export function storageViolation(
  pod: Pod,
  stats: PodStats,
  dedicatedImageFs: boolean,
): StorageViolation | undefined {
  return (
    emptyDirViolation(pod, stats) ??
    podViolation(pod, stats) ??
    containerViolation(pod, stats, dedicatedImageFs)
  );
}

function emptyDirViolation(pod: Pod, stats: PodStats): StorageViolation | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const used = stats.volumes.get(name)?.usedBytes;
    if (emptyDir?.sizeLimit === undefined || used === undefined) continue;
    const limit = parseQuantity(emptyDir.sizeLimit);
    if (limit.sign() > 0 && exceeds(used, limit))
      return {
        signal: 'emptydirfs.limit',
        message: `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit ${JSON.stringify(limit)}. `,
      };
  }
  return undefined;
}

function podViolation(pod: Pod, stats: PodStats): StorageViolation | undefined {
  const [first] = storageLimitsOf(pod);
  if (first === undefined) return undefined;
  // The sum has the format of the first limit, as with upstream's quantities.
  const limit = newQuantity(podLimits(pod).get(RESOURCE) ?? 0, parseQuantity(first).format);
  if (!exceeds(ephemeralBytes(pod, stats), limit)) return undefined;
  return {
    signal: 'ephemeralpodfs.limit',
    message: `Pod ephemeral local storage usage exceeds the total limit of containers ${limit.toString()}. `,
  };
}

function containerViolation(
  pod: Pod,
  stats: PodStats,
  dedicatedImageFs: boolean,
): StorageViolation | undefined {
  for (const { name, logs, rootfs } of stats.containers) {
    const container = pod.spec.containers.find((candidate) => candidate.name === name);
    const text = container?.resources?.limits?.[RESOURCE];
    if (text === undefined) continue;
    const limit = parseQuantity(text);
    const used = (logs?.usedBytes ?? 0) + (dedicatedImageFs ? 0 : (rootfs?.usedBytes ?? 0));
    if (!limit.isZero() && exceeds(used, limit))
      return {
        signal: 'ephemeralcontainerfs.limit',
        message: `Container ${name} exceeded its local ephemeral storage limit ${JSON.stringify(limit)}. `,
      };
  }
  return undefined;
}

function storageLimitsOf({ spec }: Pod): readonly string[] {
  return [...spec.containers, ...(spec.initContainers ?? [])].flatMap(
    ({ resources }) => resources?.limits?.[RESOURCE] ?? [],
  );
}

function exceeds(usedBytes: number, limit: Quantity): boolean {
  return newQuantity(usedBytes, 'BinarySI').cmp(limit) > 0;
}
