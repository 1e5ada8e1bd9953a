// Replica sets.

import type * as apps from '#api/groups/apps/v1/index.ts';
import { validateReplicaSet, validateReplicaSetUpdate } from '#api/groups/apps/v1/validation/index.ts';
import { validateReplicaCounts } from '#api/groups/core/v1/validation/index.ts';
import { podTemplateWarnings, resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import { withEnabledTemplateFields } from '#apiserver/kinds/pod-template.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

export type ReplicaSet = Immutable<apps.ReplicaSet>;

const TEMPLATE = new field.FieldPath('spec', 'template');

export const replicaSetStrategy: ResourceStrategy<ReplicaSet> = {
  generation: true,
  prepareForCreate: (replicaSet) => withEnabledTemplateFields({ ...replicaSet, status: { replicas: 0 } }),
  validate: (replicaSet) => validateReplicaSet(replicaSet),
  warningsOnCreate: ({ metadata, spec }) => [
    ...resourceNameWarnings(metadata.name),
    ...podTemplateWarnings(spec.template, TEMPLATE),
  ],
  prepareForUpdate: (replicaSet, old) => withEnabledTemplateFields({ ...replicaSet, status: old.status }, old),
  validateUpdate: (replicaSet, old) => validateReplicaSetUpdate(replicaSet, old),
  warningsOnUpdate: ({ metadata, spec }, old) =>
    metadata.generation === old.metadata.generation ? [] : podTemplateWarnings(spec.template, TEMPLATE),
  selectableFieldNames: ['status.replicas'],
  selectableFields: (replicaSet) => ({ 'status.replicas': String(replicaSet.status.replicas) }),
};

export const replicaSetStatusStrategy: SubresourceStrategy<ReplicaSet> = {
  prepareForUpdate: (replicaSet, old) => ({ ...replicaSet, spec: old.spec }),
  validateUpdate: (replicaSet) => validateReplicaCounts(replicaSet.status),
};
