// Every type of metrics.k8s.io/v1beta1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import { atomic, f, groupVersion, kind, message, resource } from '#api/machinery/schema/builder.ts';

export const schema = groupVersion(
  'metrics.k8s.io',
  'v1beta1',
  'io.k8s.metrics.pkg.apis.metrics.v1beta1',
  {
    NodeMetrics: resource(
      { resource: 'nodes', scope: 'Cluster', singular: '', verbs: ['get', 'list'] },
      () => [
        f('metadata?', 1, 'meta/v1.ObjectMeta'),
        f('timestamp', 2, 'time'),
        f('window', 3, 'duration'),
        f('usage', 4, 'core/v1.ResourceList'),
      ],
    ),
    NodeMetricsList: kind(() => [
      f('metadata?', 1, 'meta/v1.ListMeta'),
      f('items', 2, '[]NodeMetrics'),
    ]),
    PodMetrics: resource(
      { resource: 'pods', scope: 'Namespaced', singular: '', verbs: ['get', 'list'] },
      () => [
        f('metadata?', 1, 'meta/v1.ObjectMeta'),
        f('timestamp', 2, 'time'),
        f('window', 3, 'duration'),
        f('containers', 4, '[]ContainerMetrics', atomic),
      ],
    ),
    PodMetricsList: kind(() => [
      f('metadata?', 1, 'meta/v1.ListMeta'),
      f('items', 2, '[]PodMetrics'),
    ]),
    ContainerMetrics: message(() => [
      f('name', 1, 'string'),
      f('usage', 2, 'core/v1.ResourceList'),
    ]),
  },
);
