// The exclusive resources that containers of a pod ask for: whole CPUs, and memory on certain NUMA nodes. Only
// Guaranteed pods get either.

import { amountOf, qosClass } from '../pod/resources.ts';
import { isSidecar } from '../pod/restart-policy.ts';
import type { Container, Pod } from '../types.ts';

/** Returns init containers before the others, in the order in which they get resources. */
export function containersOf({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/** Reports whether the container ends before the regular containers start. */
export function isEndingInit(pod: Pod, { name }: Container): boolean {
  const init = (pod.spec.initContainers ?? []).find((container) => container.name === name);
  return init !== undefined && !isSidecar(init);
}

/** Reports whether the pod has resources of its own: then its containers get nothing exclusively. */
export function hasPodLevelResources({ spec }: Pod): boolean {
  const { requests, limits } = spec.resources ?? {};
  return [requests, limits].some((list) => Object.keys(list ?? {}).some(isPodLevelResource));
}

function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/** Returns the number of exclusive CPUs that the container asks for. */
export function exclusiveCpus(pod: Pod, container: Container): number {
  if (qosClass(pod) !== 'Guaranteed' || hasPodLevelResources(pod)) return 0;
  const milli = amountOf('cpu', container.resources?.requests?.['cpu'] ?? '0');
  return milli % 1000 === 0 ? milli / 1000 : 0;
}

/** Returns the number of exclusive CPUs that the pod needs at one time. */
export function podExclusiveCpus(pod: Pod): number {
  const perContainer = (container: Container): ReadonlyMap<string, number> =>
    new Map([['cpu', exclusiveCpus(pod, container)]]);
  return podMaximum(pod, perContainer).get('cpu') ?? 0;
}

/** Returns the bytes of memory and huge pages that the container asks for, by resource. */
export function memoryRequests(container: Container): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(container.resources?.requests ?? {}).flatMap(([resource, quantity]) =>
      resource === 'memory' || resource.startsWith('hugepages-')
        ? [[resource, amountOf(resource, quantity)] as const]
        : [],
    ),
  );
}

/** Returns the bytes that the pod needs at one time, of the resources of its regular containers. */
export function podMemoryRequests(pod: Pod): ReadonlyMap<string, number> {
  const regular = new Set(
    pod.spec.containers.flatMap((container) => [...memoryRequests(container).keys()]),
  );
  const all = podMaximum(pod, memoryRequests);
  return new Map([...all].filter(([resource]) => regular.has(resource)));
}

/** Returns the largest need: of an init container with the sidecars before it, or of all others. */
export function podMaximum(
  pod: Pod,
  of: (container: Container) => ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const starting = new Map<string, number>();
  const running = new Map<string, number>();
  const add = (container: Container): void => {
    for (const [resource, amount] of of(container))
      running.set(resource, (running.get(resource) ?? 0) + amount);
  };
  for (const container of pod.spec.initContainers ?? []) {
    if (isSidecar(container)) {
      add(container);
      continue;
    }
    for (const [resource, amount] of of(container)) {
      const needed = (running.get(resource) ?? 0) + amount;
      starting.set(resource, Math.max(starting.get(resource) ?? 0, needed));
    }
  }
  for (const container of pod.spec.containers) add(container);
  for (const [resource, amount] of starting)
    running.set(resource, Math.max(running.get(resource) ?? 0, amount));
  return running;
}
