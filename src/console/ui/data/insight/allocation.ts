// Sums up what the pods of a node request, as `kubectl describe node` does.

import type { KubeObject } from '../lists/live-object.ts';
import { parseQuantity } from '../text/quantity.ts';

export interface Allocation {
  /** 'cpu', 'memory', 'pods' … */
  readonly resource: string;
  readonly requested: number;
  readonly limits: number;
  readonly allocatable: number;
}

type Amounts = Readonly<Record<string, string>>;

interface Container {
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: Amounts; readonly limits?: Amounts };
}

/** Returns the allocation of each resource that the node has. `pods`: those on the node. */
export function allocationOf(node: KubeObject, pods: readonly KubeObject[]): readonly Allocation[] {
  const allocatable = (node.status?.['allocatable'] ?? {}) as Amounts;
  const active = pods.filter(
    ({ status }) => status?.['phase'] !== 'Succeeded' && status?.['phase'] !== 'Failed',
  );
  return Object.entries(allocatable)
    .map(([resource, amount]) => ({
      resource,
      requested:
        resource === 'pods'
          ? active.length
          : sumOf(active, (pod) => needOf(pod, 'requests', resource)),
      limits: resource === 'pods' ? 0 : sumOf(active, (pod) => needOf(pod, 'limits', resource)),
      allocatable: parseQuantity(amount),
    }))
    .filter(({ allocatable: whole }) => whole > 0);
}

const sumOf = (pods: readonly KubeObject[], need: (pod: KubeObject) => number): number =>
  pods.reduce((sum, pod) => sum + need(pod), 0);

/**
 * Returns the amount that a pod needs: the sum of its containers and sidecars, or more if an init
 * container needs more, and its overhead.
 */
function needOf({ spec }: KubeObject, field: 'requests' | 'limits', resource: string): number {
  const amountOf = (container: Container): number =>
    parseQuantity(container.resources?.[field]?.[resource] ?? '0') || 0;
  const containers = (spec?.['containers'] ?? []) as readonly Container[];
  const inits = (spec?.['initContainers'] ?? []) as readonly Container[];
  const overhead = parseQuantity(((spec?.['overhead'] ?? {}) as Amounts)[resource] ?? '0') || 0;
  const main = containers.reduce((sum, each) => sum + amountOf(each), 0);
  let sidecars = 0;
  let highest = 0;
  for (const each of inits) {
    // A sidecar goes on beside what comes after it.
    if (each.restartPolicy === 'Always') sidecars += amountOf(each);
    else highest = Math.max(highest, sidecars + amountOf(each));
  }
  const total = Math.max(main + sidecars, highest);
  // A limit that no container has is none.
  return total === 0 ? 0 : total + overhead;
}
