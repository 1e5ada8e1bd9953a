// Objects that restrict or change others: disruption budgets, autoscalers.

import type { HorizontalPodAutoscaler } from '#api/groups/autoscaling/v2/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { PodDisruptionBudget } from '#api/groups/policy/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { type Cause, cause, type ObjectRef, refText } from './cause.ts';
import type { Context } from './context.ts';
import { warnings } from './events.ts';
import { conditionCauses } from './explain-workload.ts';
import { podProblem } from './pod-state.ts';

/** Explains how many evictions a budget allows, and by which pods it is used up. */
export function explainBudget(object: KubeObject, context: Context): readonly Cause[] {
  const { spec, status, metadata } = object as Immutable<PodDisruptionBudget>;
  const selector = labels.labelSelectorAsSelector(spec?.selector);
  const pods = context.objects
    .ofKind<Pod>('', 'Pod', metadata.namespace ?? '')
    .filter((pod) => selector.matches(pod.metadata.labels));
  const bad = pods
    .filter((pod) => podProblem(pod, context.now) !== undefined)
    .slice(0, 5)
    .map((pod) => context.descend(pod as KubeObject, 'protects'));
  const { disruptionsAllowed = 0, currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  const counted = `${currentHealthy} pods are healthy, ${desiredHealthy} are wanted`;
  if (disruptionsAllowed > 0)
    return [
      cause('ok', `allows ${disruptionsAllowed} evictions: ${counted}`, { source: 'status' }),
    ];
  const severity = bad.length > 0 ? 'problem' : 'info';
  return [
    cause(severity, `allows no eviction now: ${counted}`, { source: 'status', causes: bad }),
    ...warnings(object, context.objects, context.now),
  ];
}

/** Explains an autoscaler by its conditions, and by the object that it scales. */
export function explainAutoscaler(object: KubeObject, context: Context): readonly Cause[] {
  const { spec, status, metadata } = object as Immutable<HorizontalPodAutoscaler>;
  const { apiVersion = '', kind = '', name = '' } = spec?.scaleTargetRef ?? {};
  const slash = apiVersion.indexOf('/');
  const ref: ObjectRef = {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    kind,
    namespace: metadata.namespace ?? '',
    name,
  };
  const target = context.objects.lookup(ref);
  const scaled =
    target.state === 'found'
      ? [context.descend(target.object, 'scales')]
      : target.state === 'absent'
        ? [cause('problem', `${refText(ref)}, which it scales, does not exist`, { object: ref })]
        : [];
  const bad = conditionCauses(object);
  const counts = `${status?.currentReplicas ?? 0} replicas, ${status?.desiredReplicas ?? 0} are wanted`;
  return [...(bad.length > 0 ? bad : [cause('ok', counts, { source: 'status' })]), ...scaled];
}
