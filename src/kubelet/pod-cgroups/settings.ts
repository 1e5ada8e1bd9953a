// The limits of cgroups, as pure functions of pods, and the files that have them in cgroups v1 and
// v2.

import type { Pod } from '../types.ts';
import { amounts, podLimits, podRequests, qosClass } from '../pod/resources.ts';
import { isSidecar } from '../pod/restart-policy.ts';

/** Absent fields are not limited. */
export interface CgroupSettings {
  readonly cpuShares?: number;
  readonly cpuQuotaUs?: number;
  readonly memoryBytes?: number;
  readonly maxProcesses?: number;
}

/** A file of a cgroup. On v1 `controller` is the hierarchy that has it. */
export interface CgroupFile {
  readonly controller: 'cpu' | 'memory' | 'pids';
  readonly name: string;
  readonly value: string;
}

export type CgroupVersion = 1 | 2;

const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const PERIOD_US = 100_000;
const MIN_QUOTA_US = 1000;

export function sharesOf(milliCpus: number): number {
  return Math.min(Math.max(Math.floor((milliCpus * 1024) / 1000), MIN_SHARES), MAX_SHARES);
}

/**
 * Returns the limits of a pod. `maxProcesses`: of each pod; undefined for no limit. `hasQuota`: false
 * if a container has exclusive CPUs, which then limit it.
 */
export function podSettings(
  pod: Pod,
  maxProcesses: number | undefined,
  hasQuota = true,
): CgroupSettings {
  const processes = maxProcesses === undefined ? {} : { maxProcesses };
  if (qosClass(pod) === 'BestEffort') return { cpuShares: MIN_SHARES, ...processes };
  const limits = podLimits(pod);
  const cpu = limits.get('cpu') ?? 0;
  const memory = limits.get('memory') ?? 0;
  return {
    cpuShares: sharesOf(podRequests(pod).get('cpu') ?? 0),
    // A limit of the whole pod exists only if every container has one.
    ...(hasQuota &&
      cpu > 0 &&
      isLimited(pod, 'cpu') && {
        cpuQuotaUs: Math.max(Math.floor((cpu * PERIOD_US) / 1000), MIN_QUOTA_US),
      }),
    ...(memory > 0 && isLimited(pod, 'memory') && { memoryBytes: memory }),
    ...processes,
  };
}

function isLimited({ spec }: Pod, resource: string): boolean {
  if ((amounts(spec.resources?.limits).get(resource) ?? 0) > 0) return true;
  const containers = [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)];
  const starting = (spec.initContainers ?? []).filter((container) => !isSidecar(container));
  return [...containers, ...starting].every(
    ({ resources }) => (amounts(resources?.limits).get(resource) ?? 0) > 0,
  );
}

/** Returns `settings` with the limits of `other` where these are larger, or not limited. */
export function withLarger(settings: CgroupSettings, other: CgroupSettings): CgroupSettings {
  const { cpuQuotaUs: quota, memoryBytes: memory, ...rest } = settings;
  const larger = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined || b === undefined ? undefined : Math.max(a, b);
  const cpuQuotaUs = larger(quota, other.cpuQuotaUs);
  const memoryBytes = larger(memory, other.memoryBytes);
  return {
    ...rest,
    ...(cpuQuotaUs !== undefined && { cpuQuotaUs }),
    ...(memoryBytes !== undefined && { memoryBytes }),
  };
}

/** Returns the files to write. */
export function cgroupFiles(settings: CgroupSettings, version: CgroupVersion): CgroupFile[] {
  const { cpuShares, cpuQuotaUs, memoryBytes, maxProcesses } = settings;
  const files: CgroupFile[] = [];
  const add = (controller: CgroupFile['controller'], name: string, value: string | number): void =>
    void files.push({ controller, name, value: String(value) });
  if (version === 1) {
    if (cpuShares !== undefined) add('cpu', 'cpu.shares', cpuShares);
    add('cpu', 'cpu.cfs_period_us', PERIOD_US);
    add('cpu', 'cpu.cfs_quota_us', cpuQuotaUs ?? -1);
    add('memory', 'memory.limit_in_bytes', memoryBytes ?? -1);
  } else {
    if (cpuShares !== undefined) add('cpu', 'cpu.weight', weightOf(cpuShares));
    add('cpu', 'cpu.max', `${cpuQuotaUs ?? 'max'} ${PERIOD_US}`);
    add('memory', 'memory.max', memoryBytes ?? 'max');
  }
  add('pids', 'pids.max', maxProcesses ?? 'max');
  return files;
}

/** Maps shares (2 to 262,144) to weights (1 to 10,000). */
function weightOf(shares: number): number {
  return 1 + Math.floor(((shares - MIN_SHARES) * 9999) / (MAX_SHARES - MIN_SHARES));
}
