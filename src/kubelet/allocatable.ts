// The resources of a node that pods get: its capacity, less what is reserved.

import { ownValue } from '#machinery/collections/string-map.ts';
import { newQuantity, parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import { isHard, type Threshold, thresholdQuantity } from './eviction/thresholds.ts';
import type { ResourceList } from './types.ts';

export interface Reservations {
  readonly kubeReserved?: ResourceList;
  readonly systemReserved?: ResourceList;
  /** Pods are evicted below these thresholds, so pods do not get the amounts. */
  readonly thresholds: readonly Threshold[];
}

/** Returns the allocatable resources. An amount is never negative. */
export function allocatableOf(capacity: ResourceList, reservations: Reservations): ResourceList {
  const { kubeReserved, systemReserved, thresholds } = reservations;
  const lists = [kubeReserved ?? {}, systemReserved ?? {}, evictionReserve(thresholds, capacity)];
  const left = reduced(capacity, lists);
  const memory = left['memory'];
  if (memory === undefined) return left;
  // Huge pages are not available as ordinary memory.
  const pages = Object.keys(left).filter((name) => name.startsWith('hugepages-'));
  const rest = pages.reduce(
    (sum, name) => sum.sub(parseQuantity(left[name] ?? '0')),
    parseQuantity(memory),
  );
  return { ...left, memory: atLeastNothing(rest).toString() };
}

/** Returns the resources that all pods together may use: the capacity, less both reservations. */
export function podsLimit(
  capacity: ResourceList,
  { kubeReserved, systemReserved }: Omit<Reservations, 'thresholds'>,
): ResourceList {
  return reduced(capacity, [kubeReserved ?? {}, systemReserved ?? {}]);
}

/** Returns what pods do not get: the reservations, and the amounts of hard thresholds. */
export function reservedOf(capacity: ResourceList, reservations: Reservations): ResourceList {
  const { kubeReserved, systemReserved, thresholds } = reservations;
  const total: Record<string, Quantity> = {};
  for (const list of [kubeReserved, systemReserved, evictionReserve(thresholds, capacity)])
    for (const [resource, amount] of Object.entries(list ?? {})) {
      const quantity = parseQuantity(amount);
      total[resource] = total[resource]?.add(quantity) ?? quantity;
    }
  return Object.fromEntries(
    Object.entries(total).map(([resource, quantity]) => [resource, quantity.toString()]),
  );
}

function reduced(capacity: ResourceList, lists: readonly ResourceList[]): ResourceList {
  return Object.fromEntries(
    Object.entries(capacity).map(([resource, amount]) => {
      const taken = lists.flatMap((list) => list[resource] ?? []);
      if (taken.length === 0) return [resource, amount];
      const rest = taken.reduce((sum, one) => sum.sub(parseQuantity(one)), parseQuantity(amount));
      return [resource, atLeastNothing(rest).toString()];
    }),
  );
}

/** Returns the amounts of hard thresholds for memory and for the node's file system. */
function evictionReserve(thresholds: readonly Threshold[], capacity: ResourceList): ResourceList {
  const amounts = thresholds.filter(isHard).flatMap(({ signal, value }) => {
    const resource =
      signal === 'memory.available'
        ? 'memory'
        : signal === 'nodefs.available'
          ? 'ephemeral-storage'
          : undefined;
    const total = resource === undefined ? undefined : ownValue(capacity, resource);
    if (resource === undefined || total === undefined) return [];
    return [[resource, thresholdQuantity(value, parseQuantity(total).value()).toString()]];
  });
  return Object.fromEntries(amounts) as ResourceList;
}

function atLeastNothing(quantity: Quantity): Quantity {
  return quantity.sign() < 0 ? newQuantity(0, quantity.format) : quantity;
}
