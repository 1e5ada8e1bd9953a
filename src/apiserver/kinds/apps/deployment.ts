// The resource deployments.

import { deployments } from '#api/groups/apps/v1/index.ts';
import type * as apps from '#api/groups/apps/v1/index.ts';
import {
  validateDeployment,
  validateDeploymentStatusUpdate,
  validateDeploymentUpdate,
} from '#api/groups/apps/v1/validation/index.ts';
import { podTemplateWarnings, resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import * as field from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { desiredStateChanged } from '#apiserver/registry/metadata.ts';
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
import { withEnabledTemplateFields } from '../pod-template.ts';
import { scaleSubresource } from '../scale.ts';

type Deployment = Immutable<apps.Deployment>;

const TEMPLATE = new field.FieldPath('spec', 'template');

const deploymentStrategy: ResourceStrategy<Deployment> = {
  // Annotations are copied to the replica sets, so they are part of the desired state.
  generation: (deployment, old) =>
    desiredStateChanged(deployment, old) ||
    !semanticEqual(deployment.metadata.annotations, old.metadata.annotations),
  prepareForCreate: (deployment) => withEnabledTemplateFields({ ...deployment, status: {} }),
  validate: (deployment) => validateDeployment(deployment),
  warningsOnCreate: ({ metadata, spec }) => [
    ...resourceNameWarnings(metadata.name),
    ...podTemplateWarnings(spec.template, TEMPLATE),
  ],
  prepareForUpdate: (deployment, old) =>
    withEnabledTemplateFields({ ...deployment, status: old.status }, old),
  validateUpdate: (deployment, old) => validateDeploymentUpdate(deployment, old),
  warningsOnUpdate: ({ metadata, spec }, old) =>
    metadata.generation === old.metadata.generation
      ? []
      : podTemplateWarnings(spec.template, TEMPLATE),
};

const deploymentStatusStrategy: SubresourceStrategy<Deployment> = {
  resetFields: [['spec'], ['metadata', 'labels']],
  prepareForUpdate(deployment, old) {
    const { labels: _, ...metadata } = deployment.metadata;
    const { labels } = old.metadata;
    return {
      ...deployment,
      metadata: labels === undefined ? metadata : { ...metadata, labels },
      spec: old.spec,
    };
  },
  validateUpdate: (deployment, old) => validateDeploymentStatusUpdate(deployment, old),
};

export const deploymentTable: TableConvertor<Deployment> = {
  columns: [
    NAME,
    column('Ready', 'Number of ready pods, and the desired number.'),
    column('Up-to-date', 'Number of pods of the current template.'),
    column('Available', 'Number of pods that have been ready for minReadySeconds.'),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    status.updatedReplicas ?? 0,
    status.availableReplicas ?? 0,
    since(metadata.creationTimestamp, now),
    ...containerCells(spec.template.spec.containers),
    deploymentSelector(spec.selector),
  ],
};

function deploymentSelector(selector: Immutable<apps.DeploymentSpec>['selector']): string {
  try {
    return labelSelectorAsSelector(selector).toString();
  } catch {
    return '<invalid>';
  }
}

export const deploymentKind = defineKind<Deployment>({
  type: deployments,
  strategy: deploymentStrategy,
  table: deploymentTable,
  subresources: {
    status: { strategy: deploymentStatusStrategy },
    scale: scaleSubresource({
      specReplicas: (deployment) => deployment.spec.replicas,
      statusReplicas: (deployment) => deployment.status.replicas ?? 0,
      selector: (deployment) => labelSelectorAsSelector(deployment.spec.selector).toString(),
      withReplicas: (deployment, replicas) => ({
        ...deployment,
        spec: { ...deployment.spec, replicas },
      }),
    }),
  },
});
