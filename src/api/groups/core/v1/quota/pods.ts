// The usage of pods: their number, and the resources that they request and are limited to.

import type { Quantity } from '#machinery/text/quantity.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { aggregateContainerResources, isHugePages } from '../pod-resources.ts';
import type * as core from '../types.ts';
import { addAmounts, amountsOf, type Amounts } from './amounts.ts';
import { ONE, type QuotaEvaluator } from './evaluator.ts';
import { isExtendedLimit, isExtendedResource, REQUESTS } from './extended-resources.ts';

const POD_NAMES: ReadonlySet<string> = new Set([
  'count/pods',
  'pods',
  ...['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => [
    name,
    `requests.${name}`,
    `limits.${name}`,
  ]),
]);
/** Limits on these resources require an explicit value in every container. */
const REQUIRED_IN_CONTAINERS: ReadonlySet<string> = new Set(
  ['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
);

export const podEvaluator: QuotaEvaluator = {
  tracks: (name) =>
    POD_NAMES.has(name) ||
    isHugePages(name) ||
    name.startsWith('requests.hugepages-') ||
    isExtendedLimit(name),
  usage: (object, { nowMs }) => podUsage(object as Immutable<core.Pod>, nowMs),
  handles: (operation, subresource) =>
    subresource === ''
      ? operation === 'CREATE' || operation === 'UPDATE'
      : subresource === 'resize' && operation === 'UPDATE',
  // An active deadline can be set later. It moves the pod from the scope NotTerminating to the
  // scope Terminating.
  handlesUpdate: (subresource, object, oldObject) =>
    subresource === 'resize' ||
    isTerminating(object as Immutable<core.Pod>) !==
      isTerminating(oldObject as Immutable<core.Pod>),
  problem: (object, limited) => missingValues(object as Immutable<core.Pod>, limited),
};

/** Reports whether the pod is in the scope Terminating: it has an active deadline. */
export function isTerminating({ spec }: Immutable<core.Pod>): boolean {
  return spec.activeDeadlineSeconds !== undefined && spec.activeDeadlineSeconds >= 0;
}

/**
 * Returns the usage of a pod. A pod that has ended, or whose deletion is overdue, counts as an
 * object without resources.
 */
export function podUsage(pod: Immutable<core.Pod>, nowMs: number): Amounts {
  const counted: Amounts = new Map([['count/pods', ONE]]);
  if (pod.status.phase === 'Failed' || pod.status.phase === 'Succeeded') return counted;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const isOverdue =
    deletionTimestamp !== undefined &&
    deletionGracePeriodSeconds !== undefined &&
    nowMs > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
  if (isOverdue) return counted;
  return addAmounts(counted, computeUsage(podAmounts(pod, 'requests'), podAmounts(pod, 'limits')));
}

/** Returns the total resources of a pod, with its overhead. */
export function podAmounts({ spec }: Immutable<core.Pod>, of: 'requests' | 'limits'): Amounts {
  // The resources of the pod as a whole take precedence over those of its containers.
  const total = new Map([
    ...aggregateContainerResources(spec, of),
    ...amountsOf(spec.resources?.[of]),
  ]);
  for (const [name, amount] of amountsOf(spec.overhead)) {
    const sum = total.get(name);
    if (of === 'requests' || sum !== undefined) total.set(name, sum?.add(amount) ?? amount);
  }
  return total;
}

function computeUsage(requests: Amounts, limits: Amounts): Amounts {
  const usage = new Map<string, Quantity>([['pods', ONE]]);
  for (const name of ['cpu', 'memory', 'ephemeral-storage']) {
    const request = requests.get(name);
    const limit = limits.get(name);
    if (request !== undefined) usage.set(name, request).set(`${REQUESTS}${name}`, request);
    if (limit !== undefined) usage.set(`limits.${name}`, limit);
  }
  for (const [name, request] of requests) {
    if (isHugePages(name)) usage.set(name, request).set(`${REQUESTS}${name}`, request);
    else if (isExtendedResource(name)) usage.set(`${REQUESTS}${name}`, request);
  }
  return usage;
}

function missingValues(
  { spec }: Immutable<core.Pod>,
  limited: readonly string[],
): string | undefined {
  const podLevelUsage = computeUsage(
    amountsOf(spec.resources?.requests),
    amountsOf(spec.resources?.limits),
  );
  const missing = limited
    .filter((name) => REQUIRED_IN_CONTAINERS.has(name) && !podLevelUsage.has(name))
    .toSorted();
  const containersWithout = (name: string): readonly string[] =>
    [...spec.containers, ...(spec.initContainers ?? [])].flatMap((container) => {
      const containerUsage = computeUsage(
        amountsOf(container.resources.requests),
        amountsOf(container.resources.limits),
      );
      return containerUsage.has(name) ? [] : [container.name];
    });
  const problems = missing.flatMap((name) => {
    const containers = containersWithout(name);
    return containers.length === 0
      ? []
      : [`${name} for: ${[...new Set(containers)].toSorted().join(',')}`];
  });
  return problems.length === 0 ? undefined : `must specify ${problems.join('; ')}`;
}
