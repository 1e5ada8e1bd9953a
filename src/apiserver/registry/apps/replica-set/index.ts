// The resource replicasets.

import type * as apps from '../../../../api/apps/v1/index.ts';
import { replicaSets } from '../../../../api/apps/v1/index.ts';
import { validateReplicaSet, validateReplicaSetUpdate } from '../../../../api/apps/v1/validation/index.ts';
import { validateReplicaCounts } from '../../../../api/core/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { labelSelectorAsSelector } from '../../../../machinery/labels.ts';
import { replicaSetTable } from '../../../printers/workloads.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import { scaleSubresource } from '../../scale.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../../strategy.ts';

type ReplicaSet = Immutable<apps.ReplicaSet>;

export const replicaSetStrategy: ResourceStrategy<ReplicaSet> = {
  generation: true,
  allowUnconditionalUpdate: true,
  prepareForCreate: (replicaSet) => ({ ...replicaSet, status: { replicas: 0 } }),
  validate: (replicaSet) => validateReplicaSet(replicaSet),
  prepareForUpdate: (replicaSet, old) => ({ ...replicaSet, status: old.status }),
  validateUpdate: (replicaSet, old) => validateReplicaSetUpdate(replicaSet, old),
  selectableFieldNames: ['status.replicas'],
  selectableFields: (replicaSet) => ({ 'status.replicas': String(replicaSet.status.replicas) }),
};

const replicaSetStatusStrategy: SubresourceStrategy<ReplicaSet> = {
  prepareForUpdate: (replicaSet, old) => ({ ...replicaSet, spec: old.spec }),
  validateUpdate: (replicaSet) => validateReplicaCounts(replicaSet.status),
};

export function replicaSetResource(services: RegistryServices): ServedResource {
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
