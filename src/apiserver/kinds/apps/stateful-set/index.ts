// The resource statefulsets.

import { statefulSets } from '#api/groups/apps/v1/index.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import { statefulSetTable } from '#apiserver/printers/workloads.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { scaleSubresource } from '#apiserver/kinds/scale.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { statefulSetStatusStrategy, statefulSetStrategy, type StatefulSet } from './strategy.ts';

export function statefulSetResource(services: RegistryServices): Kind {
  const store = new ResourceStore<StatefulSet>({ ...services, type: statefulSets, strategy: statefulSetStrategy });
  return {
    type: statefulSets,
    rest: store,
    table: statefulSetTable,
    subresources: [
      {
        name: 'status',
        kind: { group: 'apps', version: 'v1', kind: 'StatefulSet' },
        rest: store.view(statefulSetStatusStrategy),
      },
      scaleSubresource(store, {
        specReplicas: (statefulSet) => statefulSet.spec.replicas,
        statusReplicas: (statefulSet) => statefulSet.status.replicas,
        selector: (statefulSet) => labelSelectorAsSelector(statefulSet.spec.selector).toString(),
        withReplicas: (statefulSet, replicas) => ({ ...statefulSet, spec: { ...statefulSet.spec, replicas } }),
      }),
    ],
  };
}
