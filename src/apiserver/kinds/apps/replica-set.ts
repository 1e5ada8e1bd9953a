// The resource replicasets.

import { replicaSets } from '#api/groups/apps/v1/index.ts';
import type * as apps from '#api/groups/apps/v1/index.ts';
import {
  validateReplicaSet,
  validateReplicaSetUpdate,
} from '#api/groups/apps/v1/validation/index.ts';
import { validateReplicaCounts } from '#api/groups/core/v1/validation/index.ts';
import { podTemplateWarnings, resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabelSelector, labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import * as field from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { withEnabledTemplateFields } from '../pod-template.ts';
import { REPLICAS_COLUMNS, replicasCells } from '../replicas-table.ts';
import { scaleSubresource } from '../scale.ts';

type ReplicaSet = Immutable<apps.ReplicaSet>;

const TEMPLATE = new field.FieldPath('spec', 'template');

const replicaSetStrategy: ResourceStrategy<ReplicaSet> = {
  generation: true,
  prepareForCreate: (replicaSet) =>
    withEnabledTemplateFields({ ...replicaSet, status: { replicas: 0 } }),
  validate: (replicaSet) => validateReplicaSet(replicaSet),
  warningsOnCreate: ({ metadata, spec }) => [
    ...resourceNameWarnings(metadata.name),
    ...podTemplateWarnings(spec.template, TEMPLATE),
  ],
  prepareForUpdate: (replicaSet, old) =>
    withEnabledTemplateFields({ ...replicaSet, status: old.status }, old),
  validateUpdate: (replicaSet, old) => validateReplicaSetUpdate(replicaSet, old),
  warningsOnUpdate: ({ metadata, spec }, old) =>
    metadata.generation === old.metadata.generation
      ? []
      : podTemplateWarnings(spec.template, TEMPLATE),
};

const replicaSetStatusStrategy: SubresourceStrategy<ReplicaSet> = {
  prepareForUpdate: (replicaSet, old) => ({ ...replicaSet, spec: old.spec }),
  validateUpdate: (replicaSet) => validateReplicaCounts(replicaSet.status),
};

export const replicaSetTable: TableConvertor<ReplicaSet> = {
  columns: REPLICAS_COLUMNS,
  cells: (replicaSet, now) =>
    replicasCells(replicaSet, formatLabelSelector(replicaSet.spec.selector), now),
};

export const replicaSetKind = defineKind<ReplicaSet>({
  type: replicaSets,
  strategy: replicaSetStrategy,
  table: replicaSetTable,
  subresources: {
    status: { strategy: replicaSetStatusStrategy },
    scale: scaleSubresource({
      specReplicas: (replicaSet) => replicaSet.spec.replicas,
      statusReplicas: (replicaSet) => replicaSet.status.replicas,
      selector: (replicaSet) => labelSelectorAsSelector(replicaSet.spec.selector).toString(),
      withReplicas: (replicaSet, replicas) => ({
        ...replicaSet,
        spec: { ...replicaSet.spec, replicas },
      }),
    }),
  },
});
