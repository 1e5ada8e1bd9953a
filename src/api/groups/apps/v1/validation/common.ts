// Validation shared by several kinds of workloads.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { intValue, type IntOrString } from '#machinery/text/int-or-string.ts';
import {
  labelSelectorAsSelector,
  validateLabelSelector,
  type LabelSelector,
} from '#machinery/selectors/labels.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach, nonNegative } from '#api/groups/core/v1/validation/common.ts';

export const SPEC = new field.FieldPath('spec');
export const STATUS = new field.FieldPath('status');

/** Validates a selector that must not be empty. `owner`: the kind in the message. */
export function requiredSelector(
  selector: LabelSelector | null | undefined,
  owner: string,
  at: FieldPath,
): FieldErrorList {
  if (selector === undefined || selector === null) return [field.required(at)];
  const errors = validateLabelSelector(selector, at);
  if (isEmpty(selector))
    errors.push(field.invalid(at, selector, `empty selector is invalid for ${owner}`));
  return errors;
}

export function isEmpty({ matchLabels, matchExpressions }: LabelSelector): boolean {
  return Object.keys(matchLabels ?? {}).length === 0 && (matchExpressions ?? []).length === 0;
}

/**
 * Reports whether the selector matches the pods of the template; undefined for an invalid selector.
 * A missing selector matches nothing, an empty one everything.
 */
export function selectsTemplate(
  selector: LabelSelector | null | undefined,
  labels: Readonly<Record<string, string>> | undefined,
): boolean | undefined {
  try {
    return labelSelectorAsSelector(selector).matches(labels);
  } catch {
    // Its errors are reported by the validation of the selector.
    return undefined;
  }
}

/**
 * Returns the error for a selector that does not match the template's labels, reported at the
 * template's path.
 */
export function selectorMismatch(
  labels: Readonly<Record<string, string>> | undefined,
  template: FieldPath,
): FieldErrorList {
  return [
    field.invalid(
      template.child('metadata', 'labels'),
      labels ?? null,
      '`selector` does not match template `labels`',
    ),
  ];
}

export function immutableField(value: unknown, old: unknown, at: FieldPath): FieldErrorList {
  return semanticEqual(value, old) ? [] : [field.invalid(at, value ?? null, 'field is immutable')];
}

/** Validates a number that is not negative, or a percentage. */
export function positiveIntOrPercent(value: IntOrString, at: FieldPath): FieldErrorList {
  return typeof value === 'number'
    ? nonNegative(value, at)
    : invalidEach(at, value, validation.isValidPercent(value));
}

export function notMoreThan100Percent(value: IntOrString, at: FieldPath): FieldErrorList {
  return (percentage(value) ?? 0) > 100
    ? [field.invalid(at, value, 'must not be greater than 100%')]
    : [];
}

/** Returns the number of a count or a percentage. */
export function intOrPercentValue(value: IntOrString): number {
  return percentage(value) ?? intValue(value);
}

function percentage(value: IntOrString): number | undefined {
  if (typeof value === 'number' || validation.isValidPercent(value).length > 0) return undefined;
  return Number(value.slice(0, -1));
}

/** Validates that the counts of a status are not negative. */
export function nonNegativeEach<K extends string>(
  status: { readonly [Name in K]?: number },
  names: readonly K[],
  at: FieldPath,
): FieldErrorList {
  return names.flatMap((name) => nonNegative(status[name], at.child(name)));
}

/** Validates that none of the counts exceeds the number of replicas. */
export function atMostReplicas<K extends string>(
  status: { readonly replicas?: number } & { readonly [Name in K]?: number },
  names: readonly K[],
  at: FieldPath,
): FieldErrorList {
  const { replicas = 0 } = status;
  return names
    .filter((name) => (status[name] ?? 0) > replicas)
    .map((name) =>
      field.invalid(at.child(name), status[name] ?? 0, 'cannot be greater than status.replicas'),
    );
}

/** Validates that the collision count does not decrease. */
export function collisionCountUpdate(
  count: number | undefined,
  old: number | undefined,
  at: FieldPath,
): FieldErrorList {
  if (old === undefined || (count !== undefined && count >= old)) return [];
  return [field.invalid(at.child('collisionCount'), count ?? 0, 'cannot be decremented')];
}
