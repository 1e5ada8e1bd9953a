// Resource requests and limits: of a pod for admission, its quality of service, and the kernel
// settings of a container.

import { podQosClass } from '#api/groups/core/v1/qos.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { LinuxContainerResources } from '#cri/index.ts';
import type { Container, Pod, ResourceList } from '../types.ts';
import { isSidecar } from './restart-policy.ts';

/** Amounts by resource: CPU in thousandths, others in base units (bytes, pieces). */
export type Amounts = ReadonlyMap<string, number>;

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const CPU_PERIOD_US = 100_000;
const MIN_QUOTA_US = 1000;
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

export function amountOf(resource: string, quantity: string): number {
  const parsed = parseQuantity(quantity);
  return resource === 'cpu' ? parsed.milliValue() : parsed.value();
}

export function amounts(list: ResourceList | undefined): Map<string, number> {
  return new Map(
    Object.entries(list ?? {}).map(([resource, quantity]) => [
      resource,
      amountOf(resource, quantity),
    ]),
  );
}

/**
 * Returns the maximum requests during the life of the pod: of its containers and sidecars together,
 * or of its initialization.
 */
export function podRequests(pod: Pod): Amounts {
  let requests = requestsOf.get(pod.spec);
  if (requests === undefined) {
    requests = podTotal(
      pod,
      (container) => container.resources?.requests,
      pod.spec.resources?.requests,
    );
    requestsOf.set(pod.spec, requests);
  }
  return requests;
}

/** Cached, since each new pod is compared with all present ones. */
const requestsOf = new WeakMap<Pod['spec'], Amounts>();

export function podLimits(pod: Pod): Map<string, number> {
  return podTotal(pod, (container) => container.resources?.limits, pod.spec.resources?.limits);
}

function podTotal(
  pod: Pod,
  of: (container: Container) => ResourceList | undefined,
  podLevel: ResourceList | undefined,
): Map<string, number> {
  const total = new Map<string, number>();
  for (const container of pod.spec.containers) addAll(total, amounts(of(container)));
  const sidecars = new Map<string, number>();
  const starting = new Map<string, number>();
  for (const container of pod.spec.initContainers ?? []) {
    const own = amounts(of(container));
    if (isSidecar(container)) {
      addAll(sidecars, own);
      maxAll(starting, sidecars);
    } else {
      const beside = new Map(sidecars);
      addAll(beside, own);
      maxAll(starting, beside);
    }
  }
  addAll(total, sidecars);
  maxAll(total, starting);
  for (const [resource, amount] of amounts(podLevel)) total.set(resource, amount);
  addAll(total, amounts(pod.spec.overhead));
  return total;
}

function addAll(to: Map<string, number>, from: Amounts): void {
  for (const [resource, amount] of from) to.set(resource, (to.get(resource) ?? 0) + amount);
}

function maxAll(to: Map<string, number>, from: Amounts): void {
  for (const [resource, amount] of from) to.set(resource, Math.max(to.get(resource) ?? 0, amount));
}

/** Returns the QoS class of the status, or the one that follows from requests and limits. */
export function qosClass(pod: Pod): QosClass {
  return pod.status.qosClass ?? podQosClass(pod.spec);
}

function amountIn(list: ResourceList | undefined, resource: string): number {
  const quantity = list?.[resource];
  return quantity === undefined ? 0 : amountOf(resource, quantity);
}

/** Where a container runs. Empty lists: anywhere. */
export interface Placement {
  /** In the kernel's list format. */
  readonly cpus: string;
  readonly memoryNodes: string;
  /** The CPUs are the container's own: its CPU limit is their number, and needs no quota. */
  readonly isExclusive: boolean;
}

const ANYWHERE: Placement = { cpus: '', memoryNodes: '', isExclusive: false };

/**
 * Returns the resources of a container. Without a limit of its own, it has the limit of its pod.
 * `memoryCapacity`: of the node, in bytes.
 */
export function containerResources(
  pod: Pod,
  container: Container,
  memoryCapacity: number,
  placement: Placement = ANYWHERE,
): LinuxContainerResources {
  const podLimit = pod.spec.resources?.limits;
  const cpuLimit = amountIn(container.resources?.limits, 'cpu') || amountIn(podLimit, 'cpu');
  const cpuRequest = amountIn(container.resources?.requests, 'cpu') || cpuLimit;
  const memoryLimit =
    amountIn(container.resources?.limits, 'memory') || amountIn(podLimit, 'memory');
  return {
    ...cpuResources(cpuRequest, placement.isExclusive ? 0 : cpuLimit),
    ...(placement.cpus !== '' && { cpusetCpus: placement.cpus }),
    ...(placement.memoryNodes !== '' && { cpusetMems: placement.memoryNodes }),
    ...(memoryLimit > 0 ? { memoryLimitInBytes: memoryLimit } : {}),
    oomScoreAdj: oomScoreAdjustment(pod, container, memoryCapacity),
    hugepageLimits: hugepageLimits(container),
  };
}

/**
 * Returns the resources of the whole pod for the sandbox, so that runtimes can size it. `hasQuota`:
 * false if a container has exclusive CPUs.
 */
export function sandboxResources(pod: Pod, hasQuota = true): LinuxContainerResources {
  const limits = podLimits(pod);
  const memory = limits.get('memory') ?? 0;
  return {
    ...cpuResources(podRequests(pod).get('cpu') ?? 0, hasQuota ? (limits.get('cpu') ?? 0) : 0),
    ...(memory > 0 ? { memoryLimitInBytes: memory } : {}),
  };
}

export function overheadResources(pod: Pod): LinuxContainerResources | undefined {
  const overhead = amounts(pod.spec.overhead);
  if (overhead.size === 0) return undefined;
  const cpu = overhead.get('cpu') ?? 0;
  return { ...cpuResources(cpu, cpu), memoryLimitInBytes: overhead.get('memory') ?? 0 };
}

/** Returns the CPU settings. `request` and `limit`: in thousandths of a CPU. */
function cpuResources(request: number, limit: number): LinuxContainerResources {
  const shares = Math.min(Math.max(Math.floor((request * 1024) / 1000), MIN_SHARES), MAX_SHARES);
  if (limit === 0) return { cpuShares: shares, cpuPeriod: CPU_PERIOD_US };
  const quota = Math.max(Math.floor((limit * CPU_PERIOD_US) / 1000), MIN_QUOTA_US);
  return { cpuShares: shares, cpuPeriod: CPU_PERIOD_US, cpuQuota: quota };
}

const PAGE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

function hugepageLimits(
  container: Container,
): { readonly pageSize: string; readonly limit: number }[] {
  return Object.entries(container.resources?.limits ?? {}).flatMap(([resource, quantity]) => {
    if (!resource.startsWith('hugepages-')) return [];
    let size = parseQuantity(resource.slice('hugepages-'.length)).value();
    let unit = 0;
    while (size >= 1024 && size % 1024 === 0) {
      size /= 1024;
      unit++;
    }
    return [{ pageSize: `${size}${PAGE_UNITS[unit]}`, limit: amountOf(resource, quantity) }];
  });
}

/**
 * Returns the kernel's OOM score adjustment: 1000 is killed first, -997 last. Between them the
 * container's share of requested memory decides, so that a container above its request is killed
 * before one below.
 */
export function oomScoreAdjustment(pod: Pod, container: Container, memoryCapacity: number): number {
  if ((pod.spec.priority ?? 0) >= SYSTEM_CRITICAL_PRIORITY) return -997;
  const qos = qosClass(pod);
  if (qos === 'Guaranteed') return -997;
  if (qos === 'BestEffort') return 1000;
  const score = (candidate: Container): number => {
    const request = amountIn(candidate.resources?.requests, 'memory');
    return memoryCapacity > 0 ? 1000 - Math.floor((1000 * request) / memoryCapacity) : 1000;
  };
  let adjustment = score(container);
  if (
    (pod.spec.initContainers ?? []).some(
      (candidate) => candidate.name === container.name && isSidecar(candidate),
    )
  ) {
    // A sidecar must outlive the containers that it serves.
    adjustment = Math.min(adjustment, ...pod.spec.containers.map(score));
  }
  return Math.min(Math.max(adjustment, 3), 999);
}
