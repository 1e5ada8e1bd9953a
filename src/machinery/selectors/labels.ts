// Label selectors, by which controllers, services and list requests select objects. Meant for
// `import * as labels`.

import * as field from '../validation/field.ts';
import type { FieldErrorList, FieldPath } from '../validation/field.ts';
import { quote } from '../text/go-format.ts';
import { parseRequirements } from './label-parser.ts';
import { newRequirement, Requirement, type Labels, type Operator } from './label-requirement.ts';
import { isValidLabelValue, validateLabelName, validateLabels } from '../validation/validation.ts';

export { SelectorParseError } from './label-parser.ts';
export { newRequirement, Requirement } from './label-requirement.ts';
export type { Labels, Operator } from './label-requirement.ts';

/** An immutable selector. All its requirements must hold. */
export interface Selector {
  /** Reports whether the labels match. Undefined labels are treated as empty. */
  matches(labels: Labels | undefined): boolean;
  /** Reports whether the selector matches everything. */
  empty(): boolean;
  /**
   * Returns the canonical text, which `parse` can read: requirements sorted by their keys. '' also
   * for nothing().
   */
  toString(): string;
  /** Returns a selector with additional requirements. nothing() stays nothing(). */
  add(...requirements: readonly Requirement[]): Selector;
  /** Returns the requirements; undefined for a selector that matches nothing. */
  requirements(): readonly Requirement[] | undefined;
  /** Returns the value that the label must have, if the selector requires exactly one. */
  requiresExactMatch(label: string): string | undefined;
}

/** meta.k8s.io/v1 LabelSelector, as far as matching needs it. */
export interface LabelSelector {
  readonly matchLabels?: Labels | null;
  readonly matchExpressions?: readonly LabelSelectorRequirement[] | null;
}

export interface LabelSelectorRequirement {
  readonly key: string;
  /** In, NotIn, Exists, DoesNotExist. */
  readonly operator: string;
  readonly values?: readonly string[] | null;
}

const NO_LABELS: Labels = {};

class RequirementsSelector implements Selector {
  readonly #requirements: readonly Requirement[];

  constructor(requirements: readonly Requirement[]) {
    this.#requirements = requirements.length < 2 ? requirements : requirements.toSorted(byKey);
  }

  matches(labels: Labels | undefined): boolean {
    const labelsOrNone = labels ?? NO_LABELS;
    for (const requirement of this.#requirements)
      if (!requirement.matches(labelsOrNone)) return false;
    return true;
  }

  empty(): boolean {
    return this.#requirements.length === 0;
  }

  toString(): string {
    return this.#requirements.join(',');
  }

  add(...requirements: readonly Requirement[]): Selector {
    return new RequirementsSelector([...this.#requirements, ...requirements]);
  }

  requirements(): readonly Requirement[] {
    return this.#requirements;
  }

  requiresExactMatch(label: string): string | undefined {
    const requirement = this.#requirements.find(({ key }) => key === label);
    if (requirement === undefined || requirement.values.length !== 1) return undefined;
    return EXACT.has(requirement.operator) ? requirement.values[0] : undefined;
  }
}

const EXACT: ReadonlySet<Operator> = new Set<Operator>(['=', '==', 'in']);

function byKey(a: Requirement, b: Requirement): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

const EVERYTHING: Selector = new RequirementsSelector([]);

const NOTHING: Selector = {
  matches: () => false,
  empty: () => false,
  toString: () => '',
  add: () => NOTHING,
  requirements: () => undefined,
  requiresExactMatch: () => undefined,
};

/** Returns a selector that matches all objects, also those without labels. */
export function everything(): Selector {
  return EVERYTHING;
}

/** Returns a selector that matches no object. */
export function nothing(): Selector {
  return NOTHING;
}

/**
 * Parses 'a=b,c!=d,e in (x,y),f notin (z),g,!h'. '' matches everything. `at`: the path for field
 * errors. Throws SelectorParseError.
 */
export function parse(text: string, at?: FieldPath): Selector {
  return text === '' ? EVERYTHING : new RequirementsSelector(parseRequirements(text, at));
}

/**
 * Returns a selector that demands each of these labels, which are not checked. Without labels it
 * matches everything.
 */
export function selectorFromSet(set: Labels | undefined): Selector {
  const entries = Object.entries(set ?? {});
  if (entries.length === 0) return EVERYTHING;
  return new RequirementsSelector(
    entries.map(([key, value]) => new Requirement(key, '=', [value])),
  );
}

/** Does the same as `selectorFromSet`, and checks the labels. Throws FieldErrorsError. */
export function validatedSelectorFromSet(set: Labels | undefined): Selector {
  const entries = Object.entries(set ?? {});
  return new RequirementsSelector(entries.map(([key, value]) => newRequirement(key, '=', [value])));
}

const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

/**
 * Returns the selector for a LabelSelector of an object: a missing one matches nothing, an empty
 * one everything. Throws an Error with upstream's message if it is not valid.
 */
export function labelSelectorAsSelector(selector: LabelSelector | null | undefined): Selector {
  if (selector === undefined || selector === null) return NOTHING;
  const matchLabels = Object.entries(selector.matchLabels ?? {});
  const requirements = matchLabels.map(([key, value]) => newRequirement(key, '=', [value]));
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    const selectionOperator = OPERATORS.get(operator);
    if (selectionOperator === undefined)
      throw new Error(`${quote(operator)} is not a valid pod selector operator`);
    requirements.push(newRequirement(key, selectionOperator, values?.length ? values : undefined));
  }
  return requirements.length === 0 ? EVERYTHING : new RequirementsSelector(requirements);
}

/**
 * Returns a selector as text for columns and describe: '<none>' if it matches everything, '<error>'
 * if it is not valid.
 */
export function formatLabelSelector(selector: LabelSelector | null | undefined): string {
  try {
    return labelSelectorAsSelector(selector).toString() || '<none>';
  } catch {
    return '<error>';
  }
}

/**
 * Returns the labels that a selector of equalities demands. Throws an Error for any other selector.
 */
export function labelSelectorAsMap(selector: LabelSelector | null | undefined): Labels {
  const map: [string, string][] = Object.entries(selector?.matchLabels ?? {});
  for (const { key, operator, values } of selector?.matchExpressions ?? []) {
    if (operator === 'In') {
      if (values?.length !== 1) {
        throw new Error(
          `operator ${quote(operator)} without a single value cannot be converted into the old label selector format`,
        );
      }
      map.push([key, values[0]!]);
    } else if (OPERATORS.has(operator)) {
      throw new Error(
        `operator ${quote(operator)} cannot be converted into the old label selector format`,
      );
    } else {
      throw new Error(`${quote(operator)} is not a valid selector operator`);
    }
  }
  return Object.fromEntries(map);
}

/**
 * Parses the text form into a LabelSelector object (kubectl create, policies). Throws an Error with
 * upstream's message.
 */
export function parseToLabelSelector(text: string): LabelSelector {
  let requirements: Requirement[];
  try {
    requirements = parseRequirements(text);
  } catch (error) {
    throw new Error(`couldn't parse the selector string "${text}": ${(error as Error).message}`, {
      cause: error,
    });
  }
  const matchLabels: [string, string][] = [];
  const matchExpressions: LabelSelectorRequirement[] = [];
  for (const { key, operator, values } of requirements.toSorted(byKey)) {
    const named = [...OPERATORS].find(([, known]) => known === operator)?.[0];
    if (operator === '=' || operator === '==') matchLabels.push([key, values[0]!]);
    else if (operator === 'gt' || operator === 'lt')
      throw new Error(`${quote(operator)} isn't supported in label selectors`);
    else if (named === undefined)
      throw new Error(`${quote(operator)} is not a valid label selector operator`);
    else matchExpressions.push({ key, operator: named, values: [...values].sort() });
  }
  return { matchLabels: Object.fromEntries(matchLabels), matchExpressions };
}

/** Returns all errors of a LabelSelector in an object. `at`: its path. */
export function validateLabelSelector(
  selector: LabelSelector | null | undefined,
  at: FieldPath,
  options: { readonly allowInvalidLabelValueInSelector?: boolean } = {},
): FieldErrorList {
  if (selector === undefined || selector === null) return [];
  const errors = validateLabels(selector.matchLabels ?? undefined, at.child('matchLabels'));
  selector.matchExpressions?.forEach((requirement, index) => {
    const place = at.child('matchExpressions').index(index);
    const values = requirement.values ?? [];
    switch (requirement.operator) {
      case 'In':
      case 'NotIn':
        if (values.length === 0) {
          errors.push(
            field.required(
              place.child('values'),
              "must be specified when `operator` is 'In' or 'NotIn'",
            ),
          );
        }
        break;
      case 'Exists':
      case 'DoesNotExist':
        if (values.length > 0) {
          errors.push(
            field.forbidden(
              place.child('values'),
              "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
          );
        }
        break;
      default:
        errors.push(
          field.invalid(
            place.child('operator'),
            requirement.operator,
            'not a valid selector operator',
          ),
        );
    }
    errors.push(...validateLabelName(requirement.key, place.child('key')));
    if (options.allowInvalidLabelValueInSelector) return;
    values.forEach((value, at) => {
      const problems = isValidLabelValue(value);
      errors.push(
        ...problems.map((problem) =>
          field.invalid(place.child('values').index(at), value, problem),
        ),
      );
    });
  });
  return errors;
}

/** Returns labels as text for columns: 'a=b,c=d' sorted by key, '<none>' for none. */
export function formatLabels(labels: Labels | null | undefined): string {
  const entries = Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return entries.map(([key, value]) => `${key}=${value}`).join(',') || '<none>';
}
