// The request of a pod, as evictions and preemptions count it.

import { amounts, podRequests } from '../pod/resources.ts';
import type { Pod } from '../types.ts';

/**
 * Returns the request of the pod, in thousandths of a CPU or in base units. As upstream: a pod with
 * resources of its own has only those, and overhead is added to a request only if there is one.
 */
export function requestOf(pod: Pod, resource: string): number {
  const overhead = amounts(pod.spec.overhead).get(resource) ?? 0;
  const request = hasPodLevelResources(pod)
    ? podLevelRequest(pod, resource)
    : (podRequests(pod).get(resource) ?? 0) - overhead;
  return request === 0 ? 0 : request + overhead;
}

export function hasPodLevelResources({ spec: { resources } }: Pod): boolean {
  const names = [
    ...Object.keys(resources?.requests ?? {}),
    ...Object.keys(resources?.limits ?? {}),
  ];
  return names.some(isSupportedPerPod);
}

function podLevelRequest({ spec: { resources } }: Pod, resource: string): number {
  return isSupportedPerPod(resource) ? (amounts(resources?.requests).get(resource) ?? 0) : 0;
}

function isSupportedPerPod(resource: string): boolean {
  return resource === 'cpu' || resource === 'memory' || resource.startsWith('hugepages-');
}
