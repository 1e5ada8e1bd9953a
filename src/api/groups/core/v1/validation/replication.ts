// Validation of replication controllers, of the counts in such statuses, and of bindings.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import type { Binding, ReplicationController } from './types.ts';
import { nonNegative, optionalOneOf } from './common.ts';
import { runningPodTemplate } from './pod-spec.ts';

/** Validates a controller. `old`: absent on create. */
export function validateReplicationController(
  { spec }: ReplicationController,
  old?: ReplicationController,
): FieldErrorList {
  const at = field.path('spec');
  const selector = Object.entries(spec.selector ?? {});
  const errors = [
    ...nonNegative(spec.minReadySeconds, at.child('minReadySeconds')),
    ...(selector.length === 0 ? [field.required(at.child('selector'))] : []),
    ...(spec.replicas === undefined ? [field.required(at.child('replicas'))] : []),
    ...nonNegative(spec.replicas, at.child('replicas')),
  ];
  const labels = spec.template?.metadata.labels ?? {};
  if (spec.template !== undefined && !selector.every(([key, value]) => labels[key] === value)) {
    errors.push(
      field.invalid(
        at.child('template', 'metadata', 'labels'),
        labels,
        '`selector` does not match template `labels`',
      ),
    );
  }
  errors.push(
    ...runningPodTemplate(
      spec.template,
      'ReplicationController',
      at.child('template'),
      old?.spec.template,
    ),
  );
  return errors;
}

/** The counts in the status of a controller. */
export interface ReplicaCounts {
  readonly replicas?: number;
  readonly fullyLabeledReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly observedGeneration?: number;
  readonly terminatingReplicas?: number;
}

const COUNTS = [
  'replicas',
  'fullyLabeledReplicas',
  'readyReplicas',
  'availableReplicas',
  'terminatingReplicas',
  'observedGeneration',
] as const;

export function validateReplicaCounts(status: ReplicaCounts): FieldErrorList {
  const at = field.path('status');
  const errors: FieldErrorList = COUNTS.flatMap((name) =>
    nonNegative(status[name], at.child(name)),
  );
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  for (const name of ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'] as const) {
    const count = status[name] ?? 0;
    if (count > replicas)
      errors.push(field.invalid(at.child(name), count, 'cannot be greater than status.replicas'));
  }
  if (availableReplicas > readyReplicas) {
    errors.push(
      field.invalid(
        at.child('availableReplicas'),
        availableReplicas,
        'cannot be greater than readyReplicas',
      ),
    );
  }
  return errors;
}

export function validateBinding({ target }: Binding): FieldErrorList {
  const { kind = '', name = '' } = target;
  return [
    ...(kind === '' ? [] : optionalOneOf(kind, ['Node', '<empty>'], field.path('target', 'kind'))),
    ...(name === '' ? [field.required(field.path('target', 'name'))] : []),
  ];
}
