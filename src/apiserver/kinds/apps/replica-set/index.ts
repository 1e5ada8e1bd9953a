// The resource replicasets.

import { replicaSets } from '#api/groups/apps/v1/index.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import { replicaSetTable } from '#apiserver/printers/workloads.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { scaleSubresource } from '#apiserver/kinds/scale.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { replicaSetStatusStrategy, replicaSetStrategy, type ReplicaSet } from './strategy.ts';

export function replicaSetResource(services: RegistryServices): Kind {
  const store = new ResourceStore<ReplicaSet>({ ...services, type: replicaSets, strategy: replicaSetStrategy });
  return {
    type: replicaSets,
    rest: store,
    table: replicaSetTable,
    subresources: [
      { name: 'status', kind: { group: 'apps', version: 'v1', kind: 'ReplicaSet' }, rest: store.view(replicaSetStatusStrategy) },
      scaleSubresource(store, {
        specReplicas: (replicaSet) => replicaSet.spec.replicas,
        statusReplicas: (replicaSet) => replicaSet.status.replicas,
        selector: (replicaSet) => labelSelectorAsSelector(replicaSet.spec.selector).toString(),
        withReplicas: (replicaSet, replicas) => ({ ...replicaSet, spec: { ...replicaSet.spec, replicas } }),
      }),
    ],
  };
}
