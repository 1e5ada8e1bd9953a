// Validation of replica sets, and of the fields shared with deployments.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { nonNegative } from '#api/groups/core/v1/validation/common.ts';
import { runningPodTemplate } from '#api/groups/core/v1/validation/index.ts';
import {
  immutableField,
  requiredSelector,
  selectorMismatch,
  selectsTemplate,
  SPEC,
} from './common.ts';
import type { DeploymentSpec, ReplicaSet } from './types.ts';

/** Validates a replica set. `old`: absent on create. */
export function validateReplicaSet({ spec }: ReplicaSet, old?: ReplicaSet): FieldErrorList {
  return [
    ...nonNegative(spec.replicas, SPEC.child('replicas')),
    ...nonNegative(spec.minReadySeconds, SPEC.child('minReadySeconds')),
    ...replicatedTemplate(spec, SPEC, old?.spec.template),
  ];
}

export function validateReplicaSetUpdate(replicaSet: ReplicaSet, old: ReplicaSet): FieldErrorList {
  return [
    ...validateReplicaSet(replicaSet, old),
    ...immutableField(replicaSet.spec.selector, old.spec.selector, SPEC.child('selector')),
  ];
}

/** Validates the selector and the template. */
export function replicatedTemplate(
  { selector, template }: Pick<DeploymentSpec, 'selector' | 'template'>,
  at: FieldPath,
  old?: DeploymentSpec['template'],
): FieldErrorList {
  // As in upstream, the message names a deployment also for a replica set.
  const errors = requiredSelector(selector, 'deployment', at.child('selector'));
  const matches = selectsTemplate(selector, template.metadata.labels);
  if (matches === undefined)
    return [...errors, field.invalid(at.child('selector'), selector, 'invalid label selector')];
  const templatePath = at.child('template');
  if (!matches) errors.push(...selectorMismatch(template.metadata.labels, templatePath));
  return [...errors, ...runningPodTemplate(template, 'ReplicaSet', templatePath, old)];
}
