// What a pod asks of a node, counted as Kubernetes counts it (component-helpers/resource):
// containers run together, so their requests add up; init containers run one after the other before them, so each counts
// only as far as it asks for more; a sidecar (an init container with restartPolicy Always) runs beside everything that
// comes after it. Requests of the pod as a whole, if given, replace the sum. Overhead comes on top.

import type { Container, ContainerStatus } from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import type { Pod } from './objects.ts';
import { isScalarResourceName, milliValueOf, Resource, type ResourceList, valueOf } from './resource.ts';

/** Counted in scoring for a container that asks for nothing, so that such pods do not all land on one node. */
export const DEFAULT_MILLI_CPU = 100;
export const DEFAULT_MEMORY = 200 * 1024 * 1024;

export interface PodRequests {
  readonly requests: Resource;
  /** CPU and memory with the defaults above for containers without a request. For scoring only. */
  readonly nonZeroMilliCpu: number;
  readonly nonZeroMemory: number;
}

export function podRequests(pod: Pod): PodRequests {
  const requests = new Resource();
  setAmounts(requests, aggregate(pod, undefined));
  const podLevel = podLevelRequests(pod);
  if (podLevel !== undefined) setAmounts(requests, podLevel);
  if (pod.spec.overhead !== undefined) requests.add(Resource.of(pod.spec.overhead));

  // The defaults apply where neither the container nor the pod as a whole asks. If every container asks, nothing changes.
  const defaults: Amounts = new Map();
  if (podLevel === undefined || !podLevel.has('cpu')) defaults.set('cpu', DEFAULT_MILLI_CPU);
  if (podLevel === undefined || !podLevel.has('memory')) defaults.set('memory', DEFAULT_MEMORY);
  const nonZero = new Resource();
  setAmounts(nonZero, aggregate(pod, defaults));
  if (podLevel !== undefined) setAmounts(nonZero, podLevel);
  if (pod.spec.overhead !== undefined) nonZero.add(Resource.of(pod.spec.overhead));
  return { requests, nonZeroMilliCpu: nonZero.milliCpu, nonZeroMemory: nonZero.memory };
}

/** By resource name; CPU in thousandths, all else in whole units. Absent and zero are different: only absent gets a default. */
type Amounts = Map<string, number>;

function aggregate(pod: Pod, defaults: Amounts | undefined): Amounts {
  const statuses = statusesByName(pod);
  const infeasible = isResizeInfeasible(pod);
  const amountsOf = (container: Immutable<Container>, resizable: boolean): Amounts => {
    const status = resizable ? statuses.get(container.name) : undefined;
    const amounts = status === undefined ? amountsIn(container.resources.requests) : withActual(container, status, infeasible);
    if (defaults !== undefined) for (const [name, amount] of defaults) if (!amounts.has(name)) amounts.set(name, amount);
    return amounts;
  };

  const total: Amounts = new Map();
  for (const container of pod.spec.containers) plus(total, amountsOf(container, true));
  /** What the sidecars that have started so far ask for. */
  const sidecars: Amounts = new Map();
  /** The most that any step of initialization asks for. */
  const initialization: Amounts = new Map();
  for (const container of pod.spec.initContainers ?? []) {
    if (container.restartPolicy === 'Always') {
      const amounts = amountsOf(container, true);
      plus(total, amounts);
      plus(sidecars, amounts);
      atLeast(initialization, sidecars);
    } else {
      const step = amountsOf(container, false);
      plus(step, sidecars);
      atLeast(initialization, step);
    }
  }
  atLeast(total, initialization);
  return total;
}

/** While a resize is under way the pod may hold the old, the allocated or the new amount: the most of them counts. */
function withActual(container: Immutable<Container>, status: Immutable<ContainerStatus>, infeasible: boolean): Amounts {
  const amounts: Amounts = infeasible ? new Map() : amountsIn(container.resources.requests);
  atLeast(amounts, amountsIn(status.resources?.requests));
  atLeast(amounts, amountsIn(status.allocatedResources));
  return amounts;
}

function statusesByName(pod: Pod): ReadonlyMap<string, Immutable<ContainerStatus>> {
  const byName = new Map<string, Immutable<ContainerStatus>>();
  for (const list of [pod.status.containerStatuses, pod.status.initContainerStatuses]) {
    for (const status of list ?? []) {
      if (status.resources !== undefined || status.allocatedResources !== undefined) byName.set(status.name, status);
    }
  }
  return byName;
}

function isResizeInfeasible(pod: Pod): boolean {
  return (pod.status.conditions ?? []).some((c) => c.type === 'PodResizePending' && c.reason === 'Infeasible');
}

/** Requests of the pod as a whole, for the resources that can be given so. */
function podLevelRequests(pod: Pod): Amounts | undefined {
  const list = pod.spec.resources?.requests;
  if (list === undefined) return undefined;
  const amounts = amountsIn(list);
  for (const name of amounts.keys()) {
    if (name !== 'cpu' && name !== 'memory' && !name.startsWith('hugepages-')) amounts.delete(name);
  }
  return amounts.size === 0 ? undefined : amounts;
}

function amountsIn(list: ResourceList | undefined): Amounts {
  const amounts: Amounts = new Map();
  if (list === undefined) return amounts;
  for (const [name, quantity] of Object.entries(list)) {
    amounts.set(name, name === 'cpu' ? milliValueOf(quantity) : valueOf(quantity));
  }
  return amounts;
}

function plus(amounts: Amounts, more: Amounts): void {
  for (const [name, amount] of more) amounts.set(name, (amounts.get(name) ?? 0) + amount);
}

function atLeast(amounts: Amounts, floor: Amounts): void {
  for (const [name, amount] of floor) {
    const present = amounts.get(name);
    if (present === undefined || present < amount) amounts.set(name, amount);
  }
}

/** Resources that are not counted are left out. */
function setAmounts(resource: Resource, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    switch (name) {
      case 'cpu':
        resource.milliCpu = amount;
        break;
      case 'memory':
        resource.memory = amount;
        break;
      case 'ephemeral-storage':
        resource.ephemeralStorage = amount;
        break;
      default:
        if (isScalarResourceName(name)) resource.setScalar(name, amount);
    }
  }
}
