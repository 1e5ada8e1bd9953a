// The total resources of a pod's containers, and the resources that a pod can have as a whole.

import { parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from './types.ts';

const HUGE_PAGES = 'hugepages-';

/** Reports whether the resource is Kubernetes' own: without a domain, or under kubernetes.io. */
export const isNativeResource = (name: string): boolean =>
  !name.includes('/') || name.includes('kubernetes.io/');

export const isHugePages = (name: string): boolean => name.startsWith(HUGE_PAGES);

/** Reports whether limits may exceed requests. */
export const isOvercommitAllowed = (name: string): boolean =>
  isNativeResource(name) && !isHugePages(name);

/** Reports whether a pod can request the resource as a whole. */
export const isPodLevelResource = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || isHugePages(name);

type Amounts = Map<string, Quantity>;

/**
 * Returns the sum of the containers and sidecars, or the maximum during initialization, whichever
 * is more. An init container runs beside the sidecars that were started before it.
 */
export function aggregateContainerResources(
  spec: Pick<Immutable<core.PodSpec>, 'containers' | 'initContainers'>,
  of: 'requests' | 'limits',
): ReadonlyMap<string, Quantity> {
  const total: Amounts = new Map();
  const sidecars: Amounts = new Map();
  const starting: Amounts = new Map();
  for (const container of spec.containers) add(total, amounts(container.resources[of]));
  for (const container of spec.initContainers ?? []) {
    const own = amounts(container.resources[of]);
    if (container.restartPolicy === 'Always') {
      add(total, own);
      add(sidecars, own);
      atLeast(starting, sidecars);
    } else {
      add(own, sidecars);
      atLeast(starting, own);
    }
  }
  atLeast(total, starting);
  return total;
}

function amounts(list: Immutable<core.ResourceList> | undefined): Amounts {
  return new Map(Object.entries(list ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]));
}

function add(to: Amounts, from: Amounts): void {
  for (const [name, amount] of from) to.set(name, to.get(name)?.add(amount) ?? amount);
}

function atLeast(to: Amounts, from: Amounts): void {
  for (const [name, amount] of from) {
    const sum = to.get(name);
    if (sum === undefined || amount.cmp(sum) > 0) to.set(name, amount);
  }
}
