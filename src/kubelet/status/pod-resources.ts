// The resources of a whole pod in its status: those that it was allocated, and those in effect.

import {
  aggregateContainerResources,
  isPodLevelResource,
} from '#api/groups/core/v1/pod-resources.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { Pod, PodStatus, ResourceList, ResourceRequirements } from '../types.ts';

/**
 * Returns the fields of the status. `pod` has its allocated resources. During a resize (`isResizing`)
 * the previous resources are in effect.
 */
export function podResources(
  pod: Pod,
  previous: PodStatus,
  isResizing: boolean,
): Pick<PodStatus, 'allocatedResources' | 'resources'> {
  const requests = totalOf(pod, 'requests');
  const limits = totalOf(pod, 'limits');
  const allocated: ResourceRequirements = {
    ...(limits !== undefined && { limits }),
    ...(requests !== undefined && { requests }),
  };
  return {
    ...(requests !== undefined && { allocatedResources: requests }),
    resources: isResizing ? (previous.resources ?? allocated) : allocated,
  };
}

/**
 * Returns the requests or limits of the whole pod: its own, where it has them, or those of its
 * containers together, with the overhead. Undefined if there are none.
 */
function totalOf({ spec }: Pod, of: 'requests' | 'limits'): ResourceList | undefined {
  const total = new Map(aggregateContainerResources(spec, of));
  for (const [name, amount] of Object.entries(spec.resources?.[of] ?? {}))
    if (isPodLevelResource(name)) total.set(name, parseQuantity(amount));
  for (const [name, amount] of Object.entries(spec.overhead ?? {})) {
    const sum = total.get(name);
    // Without a limit the overhead makes none.
    if (sum !== undefined || of === 'requests')
      total.set(name, sum?.add(parseQuantity(amount)) ?? parseQuantity(amount));
  }
  if (total.size === 0) return undefined;
  return Object.fromEntries([...total].map(([name, amount]) => [name, amount.toString()]));
}
