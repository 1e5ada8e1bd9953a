// A plain reference implementation of a pod's requests by the documented rules, in exact
// quantities.

import type { Pod } from '../framework/objects.ts';
import {
  newMilliQuantity,
  newQuantity,
  parseQuantity,
  type Quantity,
} from '#machinery/text/quantity.ts';

type Asking = {
  readonly name: string;
  readonly resources: { readonly requests?: Readonly<Record<string, string>> };
};
type Amounts = Readonly<Record<string, string>> | undefined;

const ZERO = newQuantity(0, 'DecimalSI');
/** The assumed requests of a container without requests, for comparing nodes. */
export const ASSUMED: Readonly<Record<string, Quantity>> = {
  cpu: newMilliQuantity(100, 'DecimalSI'),
  memory: newQuantity(200 * 1024 * 1024, 'BinarySI'),
};

const most = (...all: readonly Quantity[]): Quantity =>
  all.reduce((a, b) => (a.cmp(b) >= 0 ? a : b), ZERO);

/** Returns the maximum over the steps of the pod's life. */
function sumOf(pod: Pod, of: (container: Asking) => Quantity): Quantity {
  const inits = pod.spec.initContainers ?? [];
  const sidecarsUpTo = (end: number): Quantity =>
    inits
      .slice(0, end)
      .reduce((sum, c) => (c.restartPolicy === 'Always' ? sum.add(of(c)) : sum), ZERO);
  const steps = inits.map((c, i) =>
    c.restartPolicy === 'Always' ? ZERO : sidecarsUpTo(i).add(of(c)),
  );
  return most(
    ...steps,
    pod.spec.containers.reduce((sum, c) => sum.add(of(c)), sidecarsUpTo(inits.length)),
  );
}

/** Returns the request. `missing`: the value for containers without a request. */
export function slowRequest(pod: Pod, resource: string, missing: Quantity = ZERO): Quantity {
  const infeasible = (pod.status.conditions ?? []).some(
    (c) => c.type === 'PodResizePending' && c.reason === 'Infeasible',
  );
  const amount = (list: Amounts, otherwise: Quantity = ZERO): Quantity =>
    list?.[resource] === undefined ? otherwise : parseQuantity(list[resource]);
  const overhead = amount(pod.spec.overhead);
  const { allocatedResources, resources } = pod.status;
  const asked = pod.spec.resources?.requests;
  const reported = resources !== undefined || allocatedResources !== undefined;
  // Values at pod level count if the spec or the status has them.
  const asWhole =
    asked?.[resource] !== undefined || (Object.keys(asked ?? {}).length > 0 && reported);
  if (asWhole) {
    const wish = infeasible && reported ? ZERO : amount(asked);
    return most(wish, amount(resources?.requests), amount(allocatedResources)).add(overhead);
  }
  const ofStatus = (c: Asking) =>
    [...(pod.status.containerStatuses ?? []), ...(pod.status.initContainerStatuses ?? [])].find(
      ({ name }) => name === c.name,
    );
  const wanted = infeasible ? ZERO : sumOf(pod, (c) => amount(c.resources.requests, missing));
  if (allocatedResources !== undefined && resources?.requests !== undefined) {
    return most(wanted, amount(allocatedResources), amount(resources.requests)).add(overhead);
  }
  const granted = (c: Asking): Amounts =>
    ofStatus(c)?.allocatedResources ?? (infeasible ? undefined : c.resources.requests);
  const held = (c: Asking): Amounts => ofStatus(c)?.resources?.requests ?? granted(c);
  return most(
    wanted,
    sumOf(pod, (c) => amount(granted(c), missing)),
    sumOf(pod, (c) => amount(held(c), missing)),
  ).add(overhead);
}

const known = new WeakMap<Pod, Map<string, number>>();

/**
 * Returns the request: in thousandths for CPU, otherwise in whole units. `assumed`: uses ASSUMED
 * for containers without requests.
 */
export function requested(pod: Pod, resource: string, assumed = false): number {
  let ofPod = known.get(pod);
  if (ofPod === undefined) known.set(pod, (ofPod = new Map()));
  const key = `${assumed} ${resource}`;
  let amount = ofPod.get(key);
  if (amount === undefined) {
    amount = unitsOf(resource, slowRequest(pod, resource, assumed ? ASSUMED[resource] : undefined));
    ofPod.set(key, amount);
  }
  return amount;
}

/** Returns all resources that the pod mentions. */
export function resourcesOf(pod: Pod): readonly string[] {
  const { containers, initContainers = [], overhead = {} } = pod.spec;
  return [
    ...new Set([
      ...[...containers, ...initContainers].flatMap((c) => Object.keys(c.resources.requests ?? {})),
      ...Object.keys(overhead),
    ]),
  ];
}

export function unitsOf(resource: string, quantity: Quantity): number {
  return resource === 'cpu' ? quantity.milliValue() : quantity.value();
}
