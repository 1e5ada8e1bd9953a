// The resources that each pod has been allocated on the node. A new pod is allocated its requests
// when it is admitted; a resized pod keeps its allocation until there is room for the new one. All
// other parts of the kubelet see pods with their allocated resources.
//
// Deferred resizes are tried again together, whenever one pod asks: those that need nothing more
// first, then by the priority of the pod, its class of service, and the time that they have waited.
//
// Allocations are kept in memory: after a restart they are read from the statuses of running
// containers.

import { semanticEqual } from '#machinery/deep.ts';
import { amounts, podRequests, qosClass } from './pod/resources.ts';
import {
  podUid,
  type Container,
  type Pod,
  type ResourceList,
  type ResourceRequirements,
} from './types.ts';

/**
 * Why a resize has to wait. Infeasible: this node can never do it. Deferred: it may be possible
 * when other pods end.
 */
export interface PendingResize {
  readonly reason: 'Infeasible' | 'Deferred';
  readonly message: string;
}

export interface Allocation {
  /** The pod with its allocated resources. */
  readonly pod: Pod;
  readonly pending: PendingResize | undefined;
}

interface Given {
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  readonly whole: ResourceRequirements | undefined;
}

export interface AllocationsConfig {
  readonly allocatable: () => ResourceList;
  /** Returns the pods that have, or are about to have, resources of the node. */
  readonly active: () => readonly Pod[];
  /** Called when a resize was allocated. `asked`: the caller of `allocate` gets it, too. */
  readonly onResized?: (pod: Pod, asked: boolean) => void;
  /** The managers with the static policy: Guaranteed pods keep their amounts of the resource. */
  readonly staticManagers?: readonly StaticManager[];
  /** Reports whether a container may use swap. Default: none may. */
  readonly maySwap?: (pod: Pod, container: Container) => boolean;
  readonly metrics?: AllocationMetrics;
}

export interface AllocationMetrics {
  /** Called when the spec of a pod has other resources than before. */
  resizeRequested(pod: Pod, before: Pod): void;
  /** Called whenever a resize is found to be impossible by a rule. */
  resizeInfeasible(detail: string): void;
}

export type StaticManager = 'CPU' | 'Memory';

export class Allocations {
  readonly #config: AllocationsConfig;
  readonly #given = new Map<string, Given>();
  readonly #pending = new Map<string, PendingResize>();
  /** By UID: the pods whose resize has to wait, as they were last seen. */
  readonly #wanted = new Map<string, Pod>();

  constructor(config: AllocationsConfig) {
    this.#config = config;
  }

  /**
   * Allocates the pod's requests if there is room for them. Tries deferred resizes of other pods in
   * their order, too.
   */
  allocate(pod: Pod): Allocation {
    const uid = podUid(pod);
    const before = this.current(pod);
    const last = this.#wanted.get(uid) ?? (this.#given.has(uid) ? before : pod);
    if (last !== pod) this.#config.metrics?.resizeRequested(pod, last);
    if (!this.#given.has(uid)) this.#given.set(uid, whatIs(before));
    if (before === pod) {
      this.#wanted.delete(uid);
      this.#pending.delete(uid);
      return { pod, pending: undefined };
    }
    this.#wanted.set(uid, pod);
    for (const each of this.#waiting(pod)) this.#try(each, each === pod);
    return { pod: this.current(pod), pending: this.#pending.get(uid) };
  }

  /** Returns the pod, and others whose resize is deferred, in the order in which they are tried. */
  #waiting(pod: Pod): readonly Pod[] {
    const uid = podUid(pod);
    const others = new Map(this.#config.active().map((each) => [podUid(each), each]));
    const uids = this.deferred();
    const waiting = [...uids, ...(uids.includes(uid) ? [] : [uid])]
      .map((each) => (each === uid ? pod : others.get(each)))
      .filter((each) => each !== undefined);
    // The sort is stable: those that have waited longer come first.
    return waiting.toSorted((a, b) => this.#rank(b) - this.#rank(a) || comesBefore(a, b));
  }

  #rank(pod: Pod): number {
    return increases(pod, this.current(pod)).length === 0 ? 1 : 0;
  }

  #try(pod: Pod, asked: boolean): void {
    const uid = podUid(pod);
    if (this.current(pod) === pod) {
      this.#pending.delete(uid);
      return;
    }
    const obstacle = this.#obstacle(pod);
    if (obstacle !== undefined) {
      this.#pending.set(uid, obstacle);
      return;
    }
    const isResize = isResized(pod, this.current(pod));
    this.#pending.delete(uid);
    this.#wanted.delete(uid);
    this.#given.set(uid, whatIs(pod));
    if (isResize) this.#config.onResized?.(pod, asked);
  }

  /** Returns the pod with its allocated resources; the same object if they equal its spec. */
  current(pod: Pod): Pod {
    const given = this.#given.get(podUid(pod)) ?? reported(pod);
    const put = (container: Container): Container => {
      const resources = given.containers.get(container.name);
      return resources === undefined || semanticEqual(resources, container.resources)
        ? container
        : { ...container, resources };
    };
    const { spec } = pod;
    const containers = spec.containers.map(put);
    const initContainers = spec.initContainers?.map(put);
    const whole = given.whole ?? spec.resources;
    const same =
      containers.every((container, index) => container === spec.containers[index]) &&
      (initContainers ?? []).every(
        (container, index) => container === spec.initContainers?.[index],
      ) &&
      semanticEqual(whole, spec.resources);
    if (same) return pod;
    return {
      ...pod,
      spec: {
        ...spec,
        containers,
        ...(initContainers !== undefined && { initContainers }),
        ...(whole !== undefined && { resources: whole }),
      },
    };
  }

  /** Returns the reason why the last resize is pending; undefined if none is. */
  pending(uid: string): PendingResize | undefined {
    return this.#pending.get(uid);
  }

  /** Returns the UIDs of pods with a deferred resize, the one that has waited longest first. */
  deferred(): readonly string[] {
    return [...this.#pending].filter(([, { reason }]) => reason === 'Deferred').map(([uid]) => uid);
  }

  /** Returns the numbers of pods with pending resizes, by reason. */
  countPending(): { readonly deferred: number; readonly infeasible: number } {
    const deferred = this.deferred().length;
    return { deferred, infeasible: this.#pending.size - deferred };
  }

  forget(uid: string): void {
    this.#given.delete(uid);
    this.#pending.delete(uid);
    this.#wanted.delete(uid);
  }

  /** Returns the obstacle for a pod with memory that may be in the swap. */
  #swapping(pod: Pod): PendingResize | undefined {
    const before = this.current(pod);
    const had = new Map(containersOf(before).map((container) => [container.name, container]));
    const { maySwap } = this.#config;
    const isObstacle = containersOf(pod).some((container) => {
      const last = had.get(container.name);
      if (maySwap === undefined || last === undefined) return false;
      const [wanted, given] = [container, last].map(({ resources }) =>
        amounts(resources?.requests).get('memory'),
      );
      const restarts = (last.resizePolicy ?? []).some(
        ({ resourceName, restartPolicy }) =>
          resourceName === 'memory' && restartPolicy === 'RestartContainer',
      );
      if ((wanted ?? 0) === (given ?? 0) || restarts) return false;
      return maySwap(pod, container) || maySwap(before, last);
    });
    if (!isObstacle) return undefined;
    this.#config.metrics?.resizeInfeasible('swap_limitation');
    const message = 'In-place resize of containers with swap is not supported.';
    return { reason: 'Infeasible', message };
  }

  /** Returns the obstacle for a pod whose containers have exclusive CPUs or memory. */
  #pinned(pod: Pod): PendingResize | undefined {
    if (qosClass(pod) !== 'Guaranteed') return undefined;
    const manager = (this.#config.staticManagers ?? []).find((name) =>
      isRequestResized(pod, this.current(pod), name.toLowerCase()),
    );
    if (manager === undefined) return undefined;
    this.#config.metrics?.resizeInfeasible(
      `guaranteed_pod_${manager.toLowerCase()}_manager_static_policy`,
    );
    const message =
      `Resize is infeasible for Guaranteed Pods alongside ${manager} Manager policy ` +
      `"${POLICIES[manager]}"`;
    return { reason: 'Infeasible', message };
  }

  #obstacle(pod: Pod): PendingResize | undefined {
    const forbidden = this.#swapping(pod) ?? this.#pinned(pod);
    if (forbidden !== undefined) return forbidden;
    const capacity = amounts(this.#config.allocatable());
    const wanted = podRequests(pod);
    // A decrease is always possible.
    const more = increases(pod, this.current(pod));
    for (const resource of more) {
      const [requested, total] = [wanted.get(resource) ?? 0, capacity.get(resource) ?? 0];
      if (requested <= total) continue;
      const message = `Node didn't have enough capacity: ${resource}, requested: ${requested}, capacity: ${total}`;
      return { reason: 'Infeasible', message };
    }
    if (more.length === 0) return undefined;
    const others = this.#config.active().filter((other) => podUid(other) !== podUid(pod));
    for (const resource of more) {
      const [requested, total] = [wanted.get(resource) ?? 0, capacity.get(resource) ?? 0];
      const used = others.reduce(
        (sum, other) => sum + (podRequests(this.current(other)).get(resource) ?? 0),
        0,
      );
      if (requested <= total - used) continue;
      const message =
        `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used},` +
        ` capacity: ${total}`;
      return { reason: 'Deferred', message };
    }
    return undefined;
  }
}

const POLICIES: Readonly<Record<StaticManager, string>> = { CPU: 'static', Memory: 'Static' };

const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...spec.containers,
  ...(spec.initContainers ?? []),
];

/** Returns the resources of which the pod requests more than before. */
function increases(pod: Pod, before: Pod): readonly ('cpu' | 'memory')[] {
  const [wanted, had] = [podRequests(pod), podRequests(before)];
  return (['cpu', 'memory'] as const).filter(
    (resource) => (wanted.get(resource) ?? 0) > (had.get(resource) ?? 0),
  );
}

/** Compares by the pods' priority, then by their class of service. Negative: `a` comes first. */
function comesBefore(a: Pod, b: Pod): number {
  const isGuaranteed = (pod: Pod): number => (qosClass(pod) === 'Guaranteed' ? 1 : 0);
  return (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || isGuaranteed(b) - isGuaranteed(a);
}

/** Reports whether the pod or a container has other CPU or memory than before, in a request or limit. */
function isResized(pod: Pod, before: Pod): boolean {
  const all = ({ spec }: Pod): string =>
    [spec, ...(spec.initContainers ?? []), ...spec.containers]
      .flatMap(({ resources }) => [amounts(resources?.requests), amounts(resources?.limits)])
      .flatMap((list) => [list.get('cpu'), list.get('memory')])
      .join();
  return all(pod) !== all(before);
}

/** Reports whether a container's request of the resource is another one. */
function isRequestResized(pod: Pod, before: Pod, resource: string): boolean {
  const requests = ({ spec }: Pod): string =>
    [...(spec.initContainers ?? []), ...spec.containers]
      .map(({ resources }) => amounts(resources?.requests).get(resource) ?? 0)
      .join();
  return requests(pod) !== requests(before);
}

function whatIs({ spec }: Pod): Given {
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  return {
    containers: new Map(all.map(({ name, resources }) => [name, resources])),
    whole: spec.resources,
  };
}

/** Returns the allocated resources of running containers, from the status. */
function reported({ status }: Pod): Given {
  const containers = new Map<string, ResourceRequirements>();
  for (const container of [
    ...(status.containerStatuses ?? []),
    ...(status.initContainerStatuses ?? []),
  ]) {
    const { name, state, resources, allocatedResources } = container;
    if (state.running === undefined || resources === undefined) continue;
    const { requests: _, ...rest } = resources;
    const requests = allocatedResources ?? resources.requests;
    containers.set(name, { ...rest, ...(requests !== undefined && { requests }) });
  }
  return { containers, whole: undefined };
}
