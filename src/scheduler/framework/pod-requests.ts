// The resources that a pod requests, computed as upstream (component-helpers/resource): containers
// run together, so their requests are summed; init containers run one after the other before them,
// so each counts only if it requests more; a sidecar (an init container with restartPolicy Always)
// runs together with everything that follows it. Requests at pod level replace the sum. Overhead is
// added. While a pod is resized in place, the maximum of its actual, allocated and desired
// resources counts.

import type { Container, ContainerStatus } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Pod } from './objects.ts';
import {
  isScalarResourceName,
  milliValueOf,
  Resource,
  type ResourceList,
  valueOf,
} from './resource.ts';

/**
 * The value for a container without a CPU request, in scoring only, so that such pods are spread
 * over nodes.
 */
export const DEFAULT_MILLI_CPU = 100;
export const DEFAULT_MEMORY = 200 * 1024 * 1024;

export interface PodRequests {
  readonly requests: Resource;
  /** CPU and memory with the defaults above for containers without a request. For scoring only. */
  readonly nonZeroMilliCpu: number;
  readonly nonZeroMemory: number;
}

export function podRequests(pod: Pod): PodRequests {
  const { overhead } = pod.spec;
  const withStatus = statusCounts(pod);
  const requests = new Resource();
  setAmounts(requests, aggregate(pod, undefined, withStatus));
  const podLevel = podLevelRequests(pod, withStatus);
  if (podLevel !== undefined) setAmounts(requests, podLevel);
  if (overhead !== undefined) requests.add(Resource.of(overhead));

  // The defaults apply if neither the container nor the pod level has a request. If every container
  // has one, nothing changes.
  const defaults: Amounts = new Map();
  if (podLevel === undefined || !podLevel.has('cpu')) defaults.set('cpu', DEFAULT_MILLI_CPU);
  if (podLevel === undefined || !podLevel.has('memory')) defaults.set('memory', DEFAULT_MEMORY);
  const nonZero = new Resource();
  setAmounts(nonZero, aggregate(pod, defaults, withStatus));
  if (podLevel !== undefined) setAmounts(nonZero, podLevel);
  if (overhead !== undefined) nonZero.add(Resource.of(overhead));
  return { requests, nonZeroMilliCpu: nonZero.milliCpu, nonZeroMemory: nonZero.memory };
}

/**
 * Returns the pod's maximum usage by resource; CPU in thousandths, others in whole units. Resources
 * without a limit are left out. Overhead is added to limits.
 */
export function podLimits(pod: Pod): ReadonlyMap<string, number> {
  const { overhead, resources } = pod.spec;
  const limits = sumOf(pod, (container) => container.resources.limits, undefined);
  for (const [name, amount] of amountsIn(resources?.limits))
    if (isPodLevelResource(name)) limits.set(name, amount);
  for (const [name, amount] of amountsIn(overhead)) {
    const limit = limits.get(name) ?? 0;
    if (limit > 0) limits.set(name, limit + amount);
  }
  return limits;
}

/**
 * By resource name; CPU in thousandths, others in whole units. Absent and zero differ: only an
 * absent value gets a default.
 */
type Amounts = Map<string, number>;
type SomeContainer = Immutable<Container>;
type SomeStatus = Immutable<ContainerStatus>;

/** Returns the resources of a container that count. `status`: its status, if there is one. */
type Asked = (container: SomeContainer, status: SomeStatus | undefined) => ResourceList | undefined;

const inSpec: Asked = (container) => container.resources.requests;

/**
 * Returns the requests. During a resize the pod may have its previous, its allocated or its desired
 * resources: the maximum counts. A resize that is infeasible does not.
 */
function aggregate(pod: Pod, defaults: Amounts | undefined, withStatus: boolean): Amounts {
  if (!withStatus) return sumOf(pod, inSpec, defaults);
  const unwanted = isResizeInfeasible(pod);
  const wanted = unwanted ? undefined : sumOf(pod, inSpec, defaults);
  const { allocatedResources, resources } = pod.status;
  const most: Amounts = wanted ?? new Map();
  if (allocatedResources !== undefined && resources?.requests !== undefined) {
    // The kubelet has computed the sum.
    atLeast(most, amountsIn(allocatedResources));
    atLeast(most, amountsIn(resources.requests));
    return most;
  }
  const granted: Asked = (container, status) =>
    status?.allocatedResources ?? (unwanted ? undefined : container.resources.requests);
  const held: Asked = (container, status) =>
    status?.resources?.requests ?? granted(container, status);
  atLeast(most, sumOf(pod, granted, defaults));
  atLeast(most, sumOf(pod, held, defaults));
  return most;
}

function sumOf(pod: Pod, asked: Asked, defaults: Amounts | undefined): Amounts {
  const statuses = asked === inSpec ? undefined : statusesByName(pod);
  const amountsOf = (container: SomeContainer): Amounts => {
    const amounts = amountsIn(asked(container, statuses?.get(container.name)));
    if (defaults !== undefined)
      for (const [name, amount] of defaults) if (!amounts.has(name)) amounts.set(name, amount);
    return amounts;
  };

  const total: Amounts = new Map();
  for (const container of pod.spec.containers) plus(total, amountsOf(container));
  /** The requests of the sidecars that have started so far. */
  const sidecars: Amounts = new Map();
  /** The maximum over all steps of initialization. */
  const initialization: Amounts = new Map();
  for (const container of pod.spec.initContainers ?? []) {
    const amounts = amountsOf(container);
    if (container.restartPolicy === 'Always') {
      plus(total, amounts);
      plus(sidecars, amounts);
      atLeast(initialization, sidecars);
    } else {
      plus(amounts, sidecars);
      atLeast(initialization, amounts);
    }
  }
  atLeast(total, initialization);
  return total;
}

/**
 * Reports whether the pod's status affects its requests: for most pods without a node it does not.
 */
function statusCounts(pod: Pod): boolean {
  const { status } = pod;
  const says = (list: readonly SomeStatus[] | undefined): boolean =>
    list?.some(
      ({ resources, allocatedResources }) =>
        resources !== undefined || allocatedResources !== undefined,
    ) ?? false;
  return (
    status.resources !== undefined ||
    status.allocatedResources !== undefined ||
    says(status.containerStatuses) ||
    says(status.initContainerStatuses) ||
    isResizeInfeasible(pod)
  );
}

function statusesByName(pod: Pod): ReadonlyMap<string, SomeStatus> {
  const byName = new Map<string, SomeStatus>();
  for (const list of [pod.status.initContainerStatuses, pod.status.containerStatuses]) {
    for (const status of list ?? []) byName.set(status.name, status);
  }
  return byName;
}

function isResizeInfeasible(pod: Pod): boolean {
  return (
    pod.status.conditions?.find(({ type }) => type === 'PodResizePending')?.reason === 'Infeasible'
  );
}

/** Returns the requests at pod level, for the resources that allow them. */
function podLevelRequests(pod: Pod, withStatus: boolean): Amounts | undefined {
  const list = pod.spec.resources?.requests;
  if (list === undefined || !Object.keys(list).some(isPodLevelResource)) return undefined;
  const { allocatedResources, resources } = pod.status;
  let amounts = amountsIn(list);
  if (withStatus && (resources !== undefined || allocatedResources !== undefined)) {
    if (isResizeInfeasible(pod)) amounts = new Map();
    atLeast(amounts, amountsIn(resources?.requests));
    atLeast(amounts, amountsIn(allocatedResources));
  }
  for (const name of amounts.keys()) if (!isPodLevelResource(name)) amounts.delete(name);
  return amounts;
}

function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
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

/** Sets the amounts; resources that are not counted are left out. */
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
