// The resource replicationcontrollers.

import { replicationControllers } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import {
  validateReplicaCounts,
  validateReplicationController,
} from '#api/groups/core/v1/validation/index.ts';
import { podTemplateWarnings, resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabels, selectorFromSet } from '#machinery/selectors/labels.ts';
import { FieldPath } from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { withEnabledTemplateFields } from '../pod-template.ts';
import { REPLICAS_COLUMNS, replicasCells } from '../replicas-table.ts';
import { scaleSubresource } from '../scale.ts';

type ReplicationController = Immutable<core.ReplicationController>;

const TEMPLATE = new FieldPath('spec', 'template');

const templateWarnings = ({ template }: ReplicationController['spec']): string[] =>
  template === undefined ? [] : podTemplateWarnings(template, TEMPLATE);

const replicationControllerStrategy: ResourceStrategy<ReplicationController> = {
  generation: true,
  // The default of this API version keeps the pods, as upstream.
  defaultGarbageCollection: 'orphan',
  prepareForCreate: (controller) =>
    withEnabledTemplateFields({ ...controller, status: { replicas: 0 } }),
  validate: (controller) => validateReplicationController(controller),
  warningsOnCreate: ({ metadata, spec }) => [
    ...resourceNameWarnings(metadata.name),
    ...templateWarnings(spec),
  ],
  prepareForUpdate: (controller, old) =>
    withEnabledTemplateFields({ ...controller, status: old.status }, old),
  validateUpdate: (controller, old) => validateReplicationController(controller, old),
  warningsOnUpdate: ({ metadata, spec }, old) =>
    metadata.generation === old.metadata.generation ? [] : templateWarnings(spec),
};

const replicationControllerStatusStrategy: SubresourceStrategy<ReplicationController> = {
  prepareForUpdate: (controller, old) => ({ ...controller, spec: old.spec }),
  validateUpdate: (controller) => validateReplicaCounts(controller.status),
};

export const replicationControllerTable: TableConvertor<ReplicationController> = {
  columns: REPLICAS_COLUMNS,
  cells: (controller, now) =>
    replicasCells(controller, formatLabels(controller.spec.selector), now),
};

export const replicationControllerKind = defineKind<ReplicationController>({
  type: replicationControllers,
  strategy: replicationControllerStrategy,
  selectableFields: { 'status.replicas': ({ status }) => String(status.replicas) },
  table: replicationControllerTable,
  subresources: {
    status: { strategy: replicationControllerStatusStrategy },
    scale: scaleSubresource({
      specReplicas: (controller) => controller.spec.replicas,
      statusReplicas: (controller) => controller.status.replicas,
      selector: (controller) => selectorFromSet(controller.spec.selector).toString(),
      withReplicas: (controller, replicas) => ({
        ...controller,
        spec: { ...controller.spec, replicas },
      }),
    }),
  },
});
