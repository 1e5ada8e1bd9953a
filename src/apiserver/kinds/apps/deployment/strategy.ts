// Deployments.

import type * as apps from '#api/groups/apps/v1/index.ts';
import {
  validateDeployment,
  validateDeploymentStatusUpdate,
  validateDeploymentUpdate,
} from '#api/groups/apps/v1/validation/index.ts';
import { podTemplateWarnings, resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import { desiredStateChanged } from '#apiserver/registry/metadata.ts';
import { withEnabledTemplateFields } from '#apiserver/kinds/pod-template.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

export type Deployment = Immutable<apps.Deployment>;

const TEMPLATE = new field.FieldPath('spec', 'template');

export const deploymentStrategy: ResourceStrategy<Deployment> = {
  // Annotations are handed on to the replica sets: they are part of what is desired.
  generation: (deployment, old) =>
    desiredStateChanged(deployment, old) || !semanticEqual(deployment.metadata.annotations, old.metadata.annotations),
  prepareForCreate: (deployment) => withEnabledTemplateFields({ ...deployment, status: {} }),
  validate: (deployment) => validateDeployment(deployment),
  warningsOnCreate: ({ metadata, spec }) => [
    ...resourceNameWarnings(metadata.name),
    ...podTemplateWarnings(spec.template, TEMPLATE),
  ],
  prepareForUpdate: (deployment, old) => withEnabledTemplateFields({ ...deployment, status: old.status }, old),
  validateUpdate: (deployment, old) => validateDeploymentUpdate(deployment, old),
  warningsOnUpdate: ({ metadata, spec }, old) =>
    metadata.generation === old.metadata.generation ? [] : podTemplateWarnings(spec.template, TEMPLATE),
};

export const deploymentStatusStrategy: SubresourceStrategy<Deployment> = {
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
