// The resource statefulsets.

import { statefulSets } from '#api/groups/apps/v1/index.ts';
import type * as apps from '#api/groups/apps/v1/index.ts';
import {
  validateStatefulSet,
  validateStatefulSetStatusUpdate,
  validateStatefulSetUpdate,
} from '#api/groups/apps/v1/validation/index.ts';
import { claimWarnings, podTemplateWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import type { FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { labelName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, CONTAINERS, NAME, column, containerCells } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { withEnabledTemplateFields } from '../pod-template.ts';
import { scaleSubresource } from '../scale.ts';

type StatefulSet = Immutable<apps.StatefulSet>;

const SPEC = new field.FieldPath('spec');
const TEMPLATE = SPEC.child('template');
const KEEPS_ALL_REVISIONS =
  'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended';

/**
 * Returns the warnings. `claim`: returns the path of a claim's spec in its template, which differs
 * between creation and updates, as upstream.
 */
function warnings({ spec }: StatefulSet, claim: (template: FieldPath) => FieldPath): string[] {
  const claims = (spec.volumeClaimTemplates ?? []).flatMap((template, index) =>
    claimWarnings(template.spec, claim(SPEC.child('volumeClaimTemplates').index(index))),
  );
  return (spec.revisionHistoryLimit ?? 0) < 0 ? [...claims, KEEPS_ALL_REVISIONS] : claims;
}

/**
 * Returns the stateful set without fields of disabled features: those of the template, and
 * maxUnavailable (MaxUnavailableStatefulSet).
 */
function withEnabledFields(statefulSet: StatefulSet, old?: StatefulSet): StatefulSet {
  const enabled = withEnabledTemplateFields(statefulSet, old);
  const { updateStrategy } = enabled.spec;
  const { rollingUpdate } = updateStrategy;
  if (rollingUpdate?.maxUnavailable === undefined) return enabled;
  if (old?.spec.updateStrategy.rollingUpdate?.maxUnavailable !== undefined) return enabled;
  const { maxUnavailable: _, ...rest } = rollingUpdate;
  return {
    ...enabled,
    spec: { ...enabled.spec, updateStrategy: { ...updateStrategy, rollingUpdate: rest } },
  };
}

const statefulSetStrategy: ResourceStrategy<StatefulSet> = {
  generation: true,
  // The names of its pods contain its name, and are host names.
  validateName: labelName,
  prepareForCreate: (statefulSet) =>
    withEnabledFields({ ...statefulSet, status: { replicas: 0, availableReplicas: 0 } }),
  validate: (statefulSet) => validateStatefulSet(statefulSet),
  warningsOnCreate: (statefulSet) => [
    ...podTemplateWarnings(statefulSet.spec.template, TEMPLATE),
    ...warnings(statefulSet, (template) => template),
  ],
  prepareForUpdate: (statefulSet, old) =>
    withEnabledFields({ ...statefulSet, status: old.status }, old),
  validateUpdate: (statefulSet, old) => validateStatefulSetUpdate(statefulSet, old),
  warningsOnUpdate: (statefulSet, old) => [
    ...(statefulSet.metadata.generation === old.metadata.generation
      ? []
      : podTemplateWarnings(statefulSet.spec.template, TEMPLATE)),
    ...warnings(statefulSet, (template) => template.child('Spec')),
  ],
};

const statefulSetStatusStrategy: SubresourceStrategy<StatefulSet> = {
  prepareForUpdate: (statefulSet, old) => ({ ...statefulSet, spec: old.spec }),
  validateUpdate: (statefulSet, old) => validateStatefulSetStatusUpdate(statefulSet, old),
};

export const statefulSetTable: TableConvertor<StatefulSet> = {
  columns: [
    NAME,
    column('Ready', 'Number of ready pods, and the desired number.'),
    AGE,
    ...CONTAINERS,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    since(metadata.creationTimestamp, now),
    ...containerCells(spec.template.spec.containers),
  ],
};

export const statefulSetKind = defineKind<StatefulSet>({
  type: statefulSets,
  strategy: statefulSetStrategy,
  table: statefulSetTable,
  subresources: {
    status: { strategy: statefulSetStatusStrategy },
    scale: scaleSubresource({
      specReplicas: (statefulSet) => statefulSet.spec.replicas,
      statusReplicas: (statefulSet) => statefulSet.status.replicas,
      selector: (statefulSet) => labelSelectorAsSelector(statefulSet.spec.selector).toString(),
      withReplicas: (statefulSet, replicas) => ({
        ...statefulSet,
        spec: { ...statefulSet.spec, replicas },
      }),
    }),
  },
});
