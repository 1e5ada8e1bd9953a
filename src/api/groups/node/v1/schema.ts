// Every type of node.k8s.io/v1: the only list of their fields. `npm run generate` makes types.ts
// and index.ts from it.

import {
  atomic,
  atomicMap,
  f,
  groupVersion,
  kind,
  message,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('node.k8s.io', 'v1', 'io.k8s.api.node.v1', {
  RuntimeClass: resource({ resource: 'runtimeclasses', scope: 'Cluster' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('handler', 2, 'string'),
    f('overhead?', 3, '*Overhead'),
    f('scheduling?', 4, '*Scheduling'),
  ]),
  Overhead: message(() => [f('podFixed?', 1, 'core/v1.ResourceList')]),
  Scheduling: message(() => [
    f('nodeSelector?', 1, '{}string', atomicMap),
    f('tolerations?', 2, '[]core/v1.Toleration', atomic),
  ]),
  RuntimeClassList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]RuntimeClass'),
  ]),
});
