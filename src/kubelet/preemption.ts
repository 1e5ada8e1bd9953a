// Chooses the pods that end so that a critical pod fits: as few as possible, those with the lowest
// class of service, and among them those whose requests come closest to what is missing.

import { isCriticalPod } from './eviction/critical.ts';
import { requestOf } from './eviction/requests.ts';
import { qosClass, type QosClass } from './pod/resources.ts';
import type { Pod } from './types.ts';

/** The missing amount of each resource that a pod lacks; always positive. */
export type Shortage = ReadonlyMap<string, number>;

/**
 * Returns the pods to end; undefined if even all of them would not be enough. `pods`: those that
 * use resources of the node.
 */
export function choosePreempted(
  critical: Pod,
  pods: readonly Pod[],
  shortage: Shortage,
): readonly Pod[] | undefined {
  const candidates = pods.filter((pod) => isPreemptable(critical, pod));
  if (without(shortage, candidates).size > 0) return undefined;
  const of = (qos: QosClass): readonly Pod[] => candidates.filter((pod) => qosClass(pod) === qos);
  const [bestEffort, burstable] = [of('BestEffort'), of('Burstable')];
  // Each class gives only what the lower ones cannot.
  const guaranteed = closest(of('Guaranteed'), without(shortage, [...bestEffort, ...burstable]));
  const middle = closest(burstable, without(shortage, [...bestEffort, ...guaranteed]));
  const lowest = closest(bestEffort, without(shortage, [...middle, ...guaranteed]));
  return [...lowest, ...middle, ...guaranteed];
}

/** Returns upstream's text of a shortage. */
export function describeShortage(shortage: Shortage): string {
  return `[${[...shortage].map(([name, amount]) => `(res: ${name}, q: ${amount}), `).join('')}]`;
}

function isPreemptable(critical: Pod, other: Pod): boolean {
  if (isCriticalPod(critical) && !isCriticalPod(other)) return true;
  const [higher, lower] = [critical.spec.priority, other.spec.priority];
  return higher !== undefined && lower !== undefined && higher > lower;
}

/** Returns pods that together satisfy the shortage: repeatedly the one that is closest to it. */
function closest(pods: readonly Pod[], shortage: Shortage): readonly Pod[] {
  const left = [...pods];
  const chosen: Pod[] = [];
  let missing = shortage;
  while (missing.size > 0) {
    const [first, ...others] = left;
    if (first === undefined) break;
    let best = first;
    for (const pod of others) {
      const difference = distance(missing, pod) - distance(missing, best);
      if (difference < 0 || (difference === 0 && hasSmallerRequest(pod, best))) best = pod;
    }
    chosen.push(best);
    missing = without(missing, [best]);
    // As upstream: the last pod takes the place of the chosen one.
    const last = left.pop();
    if (last !== undefined && last !== best) left[left.indexOf(best)] = last;
  }
  return chosen;
}

/** Returns how much of the shortage remains without the pod, each resource weighted equally. */
function distance(shortage: Shortage, pod: Pod): number {
  let sum = 0;
  for (const [resource, amount] of shortage) {
    const rest = amount - requested(pod, resource);
    if (rest > 0) sum += (rest / amount) ** 2;
  }
  return sum;
}

function without(shortage: Shortage, pods: readonly Pod[]): Shortage {
  const rest = new Map<string, number>();
  for (const [resource, amount] of shortage) {
    const left = pods.reduce((sum, pod) => sum - requested(pod, resource), amount);
    if (left > 0) rest.set(resource, left);
  }
  return rest;
}

function hasSmallerRequest(a: Pod, b: Pod): boolean {
  for (const resource of ['memory', 'cpu']) {
    const difference = requested(a, resource) - requested(b, resource);
    if (difference !== 0) return difference < 0;
  }
  return true;
}

const requested = (pod: Pod, resource: string): number =>
  resource === 'pods' ? 1 : requestOf(pod, resource);
