// Validation of priority classes. Messages and paths are upstream's
// (pkg/apis/scheduling/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import { immutable, oneOf } from '#api/groups/core/v1/validation/common.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  HIGHEST_USER_DEFINABLE_PRIORITY,
  SYSTEM_PRIORITY_CLASS_PREFIX,
  SYSTEM_PRIORITY_CLASSES,
} from './system-classes.ts';
import type * as scheduling from './types.ts';

type PriorityClass = Immutable<scheduling.PriorityClass>;

export function validatePriorityClass(priorityClass: PriorityClass): FieldErrorList {
  const { metadata, value, globalDefault = false, preemptionPolicy } = priorityClass;
  const errors: FieldErrorList = [];
  // The validation of metadata reports a missing name.
  const { name = '' } = metadata as { readonly name?: string };
  if (name.startsWith(SYSTEM_PRIORITY_CLASS_PREFIX)) {
    const why = notThatSystemClass(name, value, globalDefault);
    if (why !== undefined) {
      const message =
        `priority class names with '${SYSTEM_PRIORITY_CLASS_PREFIX}' prefix are reserved for ` +
        `system use only. error: ${why}`;
      errors.push(field.forbidden(field.path('metadata', 'name'), message));
    }
  } else if (value > HIGHEST_USER_DEFINABLE_PRIORITY) {
    const message = `maximum allowed value of a user defined priority is ${HIGHEST_USER_DEFINABLE_PRIORITY}`;
    errors.push(field.forbidden(field.path('value'), message));
  }
  const policies = ['PreemptLowerPriority', 'Never'];
  return [...errors, ...oneOf(preemptionPolicy, policies, field.path('preemptionPolicy'))];
}

/** Returns the difference from the system's class of that name; undefined if there is none. */
function notThatSystemClass(
  name: string,
  value: number,
  globalDefault: boolean,
): string | undefined {
  const systemClass = SYSTEM_PRIORITY_CLASSES.find((each) => each.name === name);
  if (systemClass === undefined) return `${name} is not a known system priority class`;
  if (systemClass.value !== value)
    return `value of ${name} PriorityClass must be ${systemClass.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

export function validatePriorityClassUpdate(
  priorityClass: PriorityClass,
  old: PriorityClass,
): FieldErrorList {
  return [
    ...(priorityClass.value === old.value
      ? []
      : [field.forbidden(field.path('value'), 'may not be changed in an update.')]),
    ...immutable(
      priorityClass.preemptionPolicy,
      old.preemptionPolicy,
      field.path('preemptionPolicy'),
      Object.is,
    ),
  ];
}
