// Rules that several kinds of workloads share.

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

/** A selector that must be given and restrict something. `owner`: whose it is, as the message says. */
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
 * Whether the selector finds the pods that the template makes; undefined if it is no valid selector. One that is not given
 * finds nothing, an empty one everything.
 */
export function selectsTemplate(
  selector: LabelSelector | null | undefined,
  labels: Readonly<Record<string, string>> | undefined,
): boolean | undefined {
  try {
    return labelSelectorAsSelector(selector).matches(labels);
  } catch {
    // What is wrong with it is told where the selector itself is checked.
    return undefined;
  }
}

/** That the selector does not find the template's pods, at the template. */
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

/** A number that is not negative, or a percentage. */
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

/** The number, be it a count or a percentage. */
export function intOrPercentValue(value: IntOrString): number {
  return percentage(value) ?? intValue(value);
}

function percentage(value: IntOrString): number | undefined {
  if (typeof value === 'number' || validation.isValidPercent(value).length > 0) return undefined;
  return Number(value.slice(0, -1));
}

/** Counts of a status. */
export function nonNegativeEach<K extends string>(
  status: { readonly [Name in K]?: number },
  names: readonly K[],
  at: FieldPath,
): FieldErrorList {
  return names.flatMap((name) => nonNegative(status[name], at.child(name)));
}

/** Counts of which none may be greater than that of all replicas. */
export function atMostReplicas<K extends string>(
  status: { readonly replicas?: number } & { readonly [Name in K]?: number },
  names: readonly K[],
  at: FieldPath,
): FieldErrorList {
  const { replicas = 0 } = status;
  return names
    .filter((name) => (status[name] ?? 0) > replicas)
    .map((name) =>
      field.invalid(at.child(name), status[name], 'cannot be greater than status.replicas'),
    );
}

/** Collisions of names only become more. */
export function collisionCountUpdate(
  count: number | undefined,
  old: number | undefined,
  at: FieldPath,
): FieldErrorList {
  if (old === undefined || (count !== undefined && count >= old)) return [];
  return [field.invalid(at.child('collisionCount'), count ?? 0, 'cannot be decremented')];
}
