// What a pod asks of a node by the documentation's rules, written down as plainly as possible, in
// exact quantities.

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
/** What a container is taken to ask for that does not say, when nodes are compared. */
export const ASSUMED: Readonly<Record<string, Quantity>> = {
  cpu: newMilliQuantity(100, 'DecimalSI'),
  memory: newQuantity(200 * 1024 * 1024, 'BinarySI'),
};

const most = (...all: readonly Quantity[]): Quantity =>
  all.reduce((a, b) => (a.cmp(b) >= 0 ? a : b), ZERO);

/** The most that runs at one time, step by step through the pod's life. */
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

/** `missing`: what a container counts that does not ask. */
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
  // If anything is asked for the pod as a whole, so is what its status has as a whole.
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
 * In thousandths for CPU, else in whole units. `assumed`: with ASSUMED for containers that do not
 * say.
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

/** Everything that the pod says something of. */
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
