// Every type of policy/v1: the only list of their fields. `npm run generate` makes types.ts and
// index.ts from it.

import {
  f,
  groupVersion,
  kind,
  mapList,
  merge,
  message,
  oneOf,
  optional,
  resource,
  strategy,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('policy', 'v1', 'io.k8s.api.policy.v1', {
  PodDisruptionBudgetSpec: message(() => [
    f('minAvailable?', 1, '*intOrString'),
    f('selector?', 2, '*meta/v1.LabelSelector', strategy('replace')),
    f('maxUnavailable?', 3, '*intOrString'),
    f('unhealthyPodEvictionPolicy?', 4, '*UnhealthyPodEvictionPolicyType'),
  ]),
  UnhealthyPodEvictionPolicyType: oneOf('IfHealthyBudget', 'AlwaysAllow'),
  PodDisruptionBudgetStatus: message(() => [
    f('observedGeneration?', 1, 'int64'),
    f('disruptedPods?', 2, '{}time'),
    f('disruptionsAllowed', 3, 'int32', optional),
    f('currentHealthy', 4, 'int32', optional),
    f('desiredHealthy', 5, 'int32', optional),
    f('expectedPods', 6, 'int32', optional),
    f('conditions?', 7, '[]meta/v1.Condition', mapList('type'), merge('type')),
  ]),
  PodDisruptionBudget: resource(
    {
      resource: 'poddisruptionbudgets',
      scope: 'Namespaced',
      shortNames: ['pdb'],
      subresources: ['status'],
    },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec?', 2, 'PodDisruptionBudgetSpec'),
      f('status?', 3, 'PodDisruptionBudgetStatus'),
    ],
  ),
  PodDisruptionBudgetList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]PodDisruptionBudget'),
  ]),
  Eviction: kind(() => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('deleteOptions?', 2, '*meta/v1.DeleteOptions'),
  ]),
});
