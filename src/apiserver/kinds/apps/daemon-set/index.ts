// The resource daemonsets.

import { daemonSets } from '#api/groups/apps/v1/index.ts';
import type * as apps from '#api/groups/apps/v1/index.ts';
import {
  validateDaemonSet,
  validateDaemonSetStatusUpdate,
  validateDaemonSetUpdate,
} from '#api/groups/apps/v1/validation/index.ts';
import { podTemplateWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { formatLabelSelector, formatLabels } from '#machinery/selectors/labels.ts';
import * as field from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { withEnabledTemplateFields } from '#apiserver/kinds/pod-template.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import {
  AGE,
  CONTAINERS,
  NAME,
  SELECTOR,
  column,
  containerCells,
} from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import {
  initialTemplateGeneration,
  metadataWithoutGeneration,
  nextTemplateGeneration,
} from './template-generation.ts';

export type DaemonSet = Immutable<apps.DaemonSet>;

const TEMPLATE = new field.FieldPath('spec', 'template');
const NO_STATUS = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
};

const daemonSetStrategy: ResourceStrategy<DaemonSet> = {
  generation: true,
  prepareForCreate: (daemonSet) =>
    initialTemplateGeneration(withEnabledTemplateFields({ ...daemonSet, status: NO_STATUS })),
  validate: (daemonSet) => validateDaemonSet(daemonSet),
  warningsOnCreate: ({ spec }) => podTemplateWarnings(spec.template, TEMPLATE),
  prepareForUpdate: (daemonSet, old) =>
    nextTemplateGeneration(
      withEnabledTemplateFields({ ...daemonSet, status: old.status }, old),
      old,
    ),
  validateUpdate: (daemonSet, old) => validateDaemonSetUpdate(daemonSet, old),
  warningsOnUpdate: ({ spec }, old) =>
    semanticEqual(spec.template, old.spec.template)
      ? []
      : podTemplateWarnings(spec.template, TEMPLATE),
};

const daemonSetStatusStrategy: SubresourceStrategy<DaemonSet> = {
  prepareForUpdate: (daemonSet, old) =>
    nextTemplateGeneration({ ...daemonSet, spec: old.spec }, old),
  validateUpdate: (daemonSet, old) => validateDaemonSetStatusUpdate(daemonSet, old),
};

export const daemonSetTable: TableConvertor<DaemonSet> = {
  columns: [
    NAME,
    column('Desired', 'Number of nodes that should run a pod.', { type: 'integer' }),
    column('Current', 'Number of these nodes that run a pod.', { type: 'integer' }),
    column('Ready', 'Number of nodes with a ready pod.', { type: 'integer' }),
    column('Up-to-date', 'Number of nodes with a pod of the current template.', {
      type: 'integer',
    }),
    column('Available', 'Number of nodes with a pod that has been ready for minReadySeconds.', {
      type: 'integer',
    }),
    column('Node Selector', 'Labels of the nodes that should run a pod.'),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    status.desiredNumberScheduled,
    status.currentNumberScheduled,
    status.numberReady,
    status.updatedNumberScheduled ?? 0,
    status.numberAvailable ?? 0,
    formatLabels(spec.template.spec.nodeSelector),
    since(metadata.creationTimestamp, now),
    ...containerCells(spec.template.spec.containers),
    formatLabelSelector(spec.selector),
  ],
};

export const daemonSetKind = defineKind<DaemonSet>({
  type: daemonSets,
  strategy: daemonSetStrategy,
  table: daemonSetTable,
  metadataOf: metadataWithoutGeneration,
  subresources: { status: { strategy: daemonSetStatusStrategy } },
});
