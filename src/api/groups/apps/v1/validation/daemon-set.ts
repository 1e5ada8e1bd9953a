// Rules of daemon sets.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import { nonNegative } from '#api/groups/core/v1/validation/common.ts';
import { runningPodTemplate } from '#api/groups/core/v1/validation/index.ts';
import {
  collisionCountUpdate,
  immutableField,
  intOrPercentValue,
  isEmpty,
  nonNegativeEach,
  notMoreThan100Percent,
  positiveIntOrPercent,
  selectorMismatch,
  selectsTemplate,
  SPEC,
  STATUS,
} from './common.ts';
import type { DaemonSet, DaemonSetUpdateStrategy } from './types.ts';

/** Validates a daemon set. `old`: absent on create. */
export function validateDaemonSet({ spec }: DaemonSet, old?: DaemonSet): FieldErrorList {
  const { template, selector } = spec;
  const selectorPath = SPEC.child('selector');
  const templatePath = SPEC.child('template');
  const errors = validateLabelSelector(selector, selectorPath);
  if (selectsTemplate(selector, template.metadata.labels) === false) {
    errors.push(...selectorMismatch(template.metadata.labels, templatePath));
  }
  if (selector !== null && selector !== undefined && isEmpty(selector)) {
    errors.push(field.invalid(selectorPath, selector, 'empty selector is invalid for daemonset'));
  }
  return [
    ...errors,
    ...runningPodTemplate(template, 'DaemonSet', templatePath, old?.spec.template),
    ...nonNegative(spec.minReadySeconds, SPEC.child('minReadySeconds')),
    ...updateStrategy(spec.updateStrategy, SPEC.child('updateStrategy')),
    ...nonNegative(spec.revisionHistoryLimit, SPEC.child('revisionHistoryLimit')),
  ];
}

export function validateDaemonSetUpdate(daemonSet: DaemonSet, old: DaemonSet): FieldErrorList {
  return [
    ...validateDaemonSet(daemonSet, old),
    ...immutableField(daemonSet.spec.selector, old.spec.selector, SPEC.child('selector')),
  ];
}

function updateStrategy(strategy: DaemonSetUpdateStrategy, at: FieldPath): FieldErrorList {
  switch (strategy.type) {
    case 'OnDelete':
      return [];
    case 'RollingUpdate':
      return strategy.rollingUpdate === undefined
        ? [field.required(at.child('rollingUpdate'))]
        : rollingUpdate(strategy.rollingUpdate, at.child('rollingUpdate'));
    default:
      return [field.notSupported(at, strategy, ['RollingUpdate', 'OnDelete'])];
  }
}

function rollingUpdate(
  { maxUnavailable = 0, maxSurge = 0 }: NonNullable<DaemonSetUpdateStrategy['rollingUpdate']>,
  at: FieldPath,
): FieldErrorList {
  const unavailablePath = at.child('maxUnavailable');
  const surgePath = at.child('maxSurge');
  const errors = [
    ...positiveIntOrPercent(maxUnavailable, unavailablePath),
    ...positiveIntOrPercent(maxSurge, surgePath),
    ...notMoreThan100Percent(maxUnavailable, unavailablePath),
    ...notMoreThan100Percent(maxSurge, surgePath),
  ];
  const hasUnavailable = intOrPercentValue(maxUnavailable) !== 0;
  const hasSurge = intOrPercentValue(maxSurge) !== 0;
  // A node's old pod is deleted either before its successor is created or after, not both.
  if (hasUnavailable && hasSurge) {
    errors.push(
      field.invalid(surgePath, maxSurge, 'may not be set when maxUnavailable is non-zero'),
    );
  }
  if (!hasUnavailable && !hasSurge)
    errors.push(field.required(unavailablePath, 'cannot be 0 when maxSurge is 0'));
  return errors;
}

const COUNTS = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
] as const;

export function validateDaemonSetStatusUpdate(
  { status }: DaemonSet,
  old: DaemonSet,
): FieldErrorList {
  return [
    ...nonNegativeEach(status, COUNTS, STATUS),
    ...collisionCountUpdate(status.collisionCount, old.status.collisionCount, STATUS),
  ];
}
