// The QoS class of a pod, which follows from its requests and limits (CPU and memory only).

import { parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from './types.ts';

type ResourceRequirements = Immutable<core.ResourceRequirements>;

const COUNTED = ['cpu', 'memory'] as const;

/**
 * Returns the QoS class. Guaranteed: every container has limits of CPU and memory and equal
 * requests. BestEffort: there are no requests and limits. Burstable: anything else. Resources of
 * the pod as a whole take precedence.
 */
export function podQosClass(spec: Immutable<core.PodSpec>): core.PodQOSClass {
  const parts: readonly ResourceRequirements[] =
    spec.resources !== undefined
      ? [spec.resources]
      : [...spec.containers, ...(spec.initContainers ?? [])].map(
          (container) => container.resources,
        );
  let any = false;
  let guaranteed = true;
  const requests = new Map<string, Quantity>();
  const limits = new Map<string, Quantity>();
  for (const part of parts) {
    for (const resource of COUNTED) {
      const request = positive(part.requests?.[resource]);
      const limit = positive(part.limits?.[resource]);
      if (request !== undefined || limit !== undefined) any = true;
      if (limit === undefined) guaranteed = false;
      add(requests, resource, request);
      add(limits, resource, limit);
    }
  }
  if (!any) return 'BestEffort';
  const equal = COUNTED.every((resource) => {
    const request = requests.get(resource);
    return request !== undefined && limits.get(resource)?.equals(request) === true;
  });
  return guaranteed && equal ? 'Guaranteed' : 'Burstable';
}

function positive(text: string | undefined): Quantity | undefined {
  if (text === undefined) return undefined;
  const quantity = parseQuantity(text);
  return quantity.sign() > 0 ? quantity : undefined;
}

function add(sums: Map<string, Quantity>, resource: string, amount: Quantity | undefined): void {
  if (amount !== undefined) sums.set(resource, sums.get(resource)?.add(amount) ?? amount);
}
