// Rules of deployments.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { nonNegative } from '#api/groups/core/v1/validation/common.ts';
import {
  atMostReplicas,
  collisionCountUpdate,
  immutableField,
  intOrPercentValue,
  nonNegativeEach,
  notMoreThan100Percent,
  positiveIntOrPercent,
  SPEC,
  STATUS,
} from './common.ts';
import { replicatedTemplate } from './replica-set.ts';
import type { Deployment, DeploymentStrategy } from './types.ts';

/** Validates a deployment. `old`: absent on create. */
export function validateDeployment({ spec }: Deployment, old?: Deployment): FieldErrorList {
  const errors = [
    ...nonNegative(spec.replicas, SPEC.child('replicas')),
    ...replicatedTemplate(spec, SPEC, old?.spec.template),
    ...deploymentStrategy(spec.strategy, SPEC.child('strategy')),
    ...nonNegative(spec.minReadySeconds, SPEC.child('minReadySeconds')),
    ...nonNegative(spec.revisionHistoryLimit, SPEC.child('revisionHistoryLimit')),
  ];
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0 } = spec;
  if (deadline !== undefined) {
    const at = SPEC.child('progressDeadlineSeconds');
    errors.push(...nonNegative(deadline, at));
    // Otherwise every pod would exceed the deadline.
    if (deadline <= minReadySeconds)
      errors.push(field.invalid(at, deadline, 'must be greater than minReadySeconds'));
  }
  return errors;
}

export function validateDeploymentUpdate(deployment: Deployment, old: Deployment): FieldErrorList {
  return [
    ...validateDeployment(deployment, old),
    ...immutableField(deployment.spec.selector, old.spec.selector, SPEC.child('selector')),
  ];
}

function deploymentStrategy(strategy: DeploymentStrategy, at: FieldPath): FieldErrorList {
  const { type, rollingUpdate } = strategy;
  const rollingPath = at.child('rollingUpdate');
  switch (type) {
    case 'Recreate':
      return rollingUpdate === undefined
        ? []
        : [field.forbidden(rollingPath, "may not be specified when strategy `type` is 'Recreate'")];
    case 'RollingUpdate':
      return rollingUpdate === undefined
        ? [field.required(rollingPath, 'this should be defaulted and never be nil')]
        : rollingUpdateDeployment(rollingUpdate, rollingPath);
    default:
      return [field.notSupported(at, strategy, ['Recreate', 'RollingUpdate'])];
  }
}

function rollingUpdateDeployment(
  { maxUnavailable = 0, maxSurge = 0 }: NonNullable<DeploymentStrategy['rollingUpdate']>,
  at: FieldPath,
): FieldErrorList {
  const unavailablePath = at.child('maxUnavailable');
  const errors = [
    ...positiveIntOrPercent(maxUnavailable, unavailablePath),
    ...positiveIntOrPercent(maxSurge, at.child('maxSurge')),
  ];
  // Otherwise no pod could ever be replaced.
  if (intOrPercentValue(maxUnavailable) === 0 && intOrPercentValue(maxSurge) === 0) {
    errors.push(
      field.invalid(unavailablePath, maxUnavailable, 'may not be 0 when `maxSurge` is 0'),
    );
  }
  return [...errors, ...notMoreThan100Percent(maxUnavailable, unavailablePath)];
}

const COUNTS = [
  'observedGeneration',
  'replicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'unavailableReplicas',
  'terminatingReplicas',
  'collisionCount',
] as const;

export function validateDeploymentStatusUpdate(
  { status }: Deployment,
  old: Deployment,
): FieldErrorList {
  const errors = [
    ...nonNegativeEach(status, COUNTS, STATUS),
    ...atMostReplicas(status, ['updatedReplicas', 'readyReplicas', 'availableReplicas'], STATUS),
  ];
  const { availableReplicas = 0, readyReplicas = 0 } = status;
  if (availableReplicas > readyReplicas) {
    const at = STATUS.child('availableReplicas');
    errors.push(field.invalid(at, availableReplicas, 'cannot be greater than readyReplicas'));
  }
  return [
    ...errors,
    ...collisionCountUpdate(status.collisionCount, old.status.collisionCount, STATUS),
  ];
}
