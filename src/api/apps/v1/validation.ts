// Validation of apps/v1. Messages and paths are Kubernetes' own (pkg/apis/apps/validation).

import { deepEqual } from '../../../machinery/deep.ts';
import * as field from '../../../machinery/field.ts';
import type { FieldErrorList } from '../../../machinery/field.ts';
import { labelSelectorAsSelector, validateLabelSelector } from '../../../machinery/labels.ts';
import { nonNegative } from '../../core/v1/validation/common.ts';
import { runningPodTemplate } from '../../core/v1/validation/index.ts';
import type { Immutable } from '../../meta/v1/index.ts';
import type * as apps from './types.ts';

type ReplicaSet = Immutable<apps.ReplicaSet>;

const SPEC = new field.FieldPath('spec');

export function validateReplicaSet(replicaSet: ReplicaSet): FieldErrorList {
  const { spec } = replicaSet;
  const errors: FieldErrorList = [
    ...nonNegative(spec.replicas, SPEC.child('replicas')),
    ...nonNegative(spec.minReadySeconds, SPEC.child('minReadySeconds')),
  ];
  const selectorErrors = validateLabelSelector(spec.selector, SPEC.child('selector'));
  const empty =
    Object.keys(spec.selector?.matchLabels ?? {}).length === 0 && (spec.selector?.matchExpressions ?? []).length === 0;
  if (spec.selector === undefined || spec.selector === null) errors.push(field.required(SPEC.child('selector')));
  else if (empty) errors.push(field.invalid(SPEC.child('selector'), spec.selector, 'empty selector is invalid for deployment'));
  errors.push(...selectorErrors);
  if (!empty && selectorErrors.length === 0) {
    const labels = spec.template.metadata?.labels ?? {};
    if (!labelSelectorAsSelector(spec.selector).matches(labels)) {
      errors.push(
        field.invalid(SPEC.child('template', 'metadata', 'labels'), labels, '`selector` does not match template `labels`'),
      );
    }
  }
  errors.push(...runningPodTemplate(spec.template, 'ReplicaSet', spec.replicas ?? 0, SPEC.child('template')));
  return errors;
}

export function validateReplicaSetUpdate(replicaSet: ReplicaSet, old: ReplicaSet): FieldErrorList {
  const errors = validateReplicaSet(replicaSet);
  if (!deepEqual(replicaSet.spec.selector, old.spec.selector)) {
    errors.push(field.invalid(SPEC.child('selector'), replicaSet.spec.selector, 'field is immutable'));
  }
  return errors;
}
