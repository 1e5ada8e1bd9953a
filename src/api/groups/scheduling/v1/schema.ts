// Every type of scheduling.k8s.io/v1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import { f, groupVersion, kind, optional, resource } from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('scheduling.k8s.io', 'v1', 'io.k8s.api.scheduling.v1', {
  PriorityClass: resource(
    { resource: 'priorityclasses', scope: 'Cluster', shortNames: ['pc'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('value', 2, 'int32', optional),
      f('globalDefault?', 3, 'bool'),
      f('description?', 4, 'string'),
      f('preemptionPolicy?', 5, '*core/v1.PreemptionPolicy'),
    ],
  ),
  PriorityClassList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]PriorityClass'),
  ]),
});
