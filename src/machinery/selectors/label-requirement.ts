// One term of a label selector: a key, an operator and values.

import * as field from '../validation/field.ts';
import type { FieldError, FieldErrorList, FieldPath } from '../validation/field.ts';
import { isQualifiedName, isValidLabelValue } from '../validation/validation.ts';

/** The labels of an object. */
export type Labels = Readonly<Record<string, string>>;

export type Operator = 'in' | 'notin' | '=' | '==' | '!=' | 'gt' | 'lt' | 'exists' | '!';

/** The order is the order in messages. */
export const BINARY_OPERATORS: readonly Operator[] = ['in', 'notin', '=', '==', '!=', 'gt', 'lt'];
const OPERATORS: readonly Operator[] = [...BINARY_OPERATORS, 'exists', '!'];

const ROOT = new field.FieldPath();

/**
 * An immutable requirement. Created by `newRequirement` (checked), or by the constructor from valid
 * parts.
 */
export class Requirement {
  readonly key: string;
  readonly operator: Operator;
  /** The values in their original order. */
  readonly values: readonly string[];
  /** The number with which gt and lt compare. */
  readonly #limit: bigint | undefined;
  /** `values` as a set, if there are so many that a look-up is faster than a search. */
  readonly #set: ReadonlySet<string> | undefined;

  constructor(key: string, operator: Operator, values: readonly string[]) {
    this.key = key;
    this.operator = operator;
    this.values = values;
    this.#set = values.length > 8 ? new Set(values) : undefined;
    this.#limit = operator === 'gt' || operator === 'lt' ? parseInt64(values[0] ?? '') : undefined;
  }

  /** Reports whether the labels match. 'notin' and '!=' also hold for labels without the key. */
  matches(labels: Labels): boolean {
    // Inherited properties (`constructor`) are not strings, so they do not count as labels.
    const value: unknown = labels[this.key];
    const present = typeof value === 'string';
    switch (this.operator) {
      case '=':
      case '==':
      case 'in':
        return present && this.#has(value);
      case '!=':
      case 'notin':
        return !present || !this.#has(value);
      case 'exists':
        return present;
      case '!':
        return !present;
      case 'gt':
      case 'lt':
        return present && this.#compares(value);
      default:
        return false;
    }
  }

  #has(value: string): boolean {
    return this.#set === undefined ? this.values.includes(value) : this.#set.has(value);
  }

  #compares(value: string): boolean {
    const number = parseInt64(value);
    if (number === undefined || this.#limit === undefined) return false;
    return this.operator === 'gt' ? number > this.#limit : number < this.#limit;
  }

  /** Returns the canonical text with sorted values: 'a in (x,y)'. */
  toString(): string {
    const values =
      this.values.length > 1 ? [...this.values].sort().join(',') : (this.values[0] ?? '');
    switch (this.operator) {
      case '!':
        return `!${this.key}`;
      case 'exists':
        return this.key;
      case 'in':
      case 'notin':
        return `${this.key} ${this.operator} (${values})`;
      case 'gt':
        return `${this.key}>${values}`;
      case 'lt':
        return `${this.key}<${values}`;
      default:
        return `${this.key}${this.operator}${values}`;
    }
  }
}

/**
 * Returns a checked requirement: key and values must be valid in labels, and the values must suit
 * the operator. `values` undefined: none. Throws FieldErrorsError.
 */
export function newRequirement(
  key: string,
  operator: Operator,
  values: readonly string[] | undefined,
  at: FieldPath = ROOT,
): Requirement {
  const givenValues = values ?? [];
  const errors: FieldErrorList = [];
  const wrongKey = invalidLabelKey(key, at.child('key'));
  if (wrongKey !== undefined) errors.push(wrongKey);
  const valuesPath = at.child('values');
  errors.push(...wrongValues(operator, givenValues, values, at, valuesPath));
  givenValues.forEach((value, index) => {
    const problems = isValidLabelValue(value);
    if (problems.length > 0)
      errors.push(field.invalid(valuesPath.index(index).key(key), value, problems.join('; ')));
  });
  const aggregate = field.toAggregate(errors);
  if (aggregate !== undefined) throw aggregate;
  return new Requirement(key, operator, givenValues);
}

/** Returns one error with all problems of a label key; undefined if the key is valid. */
export function invalidLabelKey(key: string, at: FieldPath | undefined): FieldError | undefined {
  const problems = isQualifiedName(key);
  return problems.length === 0 ? undefined : field.invalid(at, key, problems.join('; '));
}

function wrongValues(
  operator: Operator,
  given: readonly string[],
  shown: readonly string[] | undefined,
  at: FieldPath,
  valuesPath: FieldPath,
): FieldErrorList {
  switch (operator) {
    case 'in':
    case 'notin':
      if (given.length > 0) return [];
      return [
        field.invalid(valuesPath, shown, "for 'in', 'notin' operators, values set can't be empty"),
      ];
    case '=':
    case '==':
    case '!=':
      if (given.length === 1) return [];
      return [
        field.invalid(valuesPath, shown, 'exact-match compatibility requires one single value'),
      ];
    case 'exists':
    case '!':
      if (given.length === 0) return [];
      return [
        field.invalid(valuesPath, shown, 'values set must be empty for exists and does not exist'),
      ];
    case 'gt':
    case 'lt': {
      const errors: FieldErrorList = [];
      if (given.length !== 1) {
        errors.push(
          field.invalid(
            valuesPath,
            shown,
            "for 'Gt', 'Lt' operators, exactly one value is required",
          ),
        );
      }
      given.forEach((value, index) => {
        if (parseInt64(value) !== undefined) return;
        errors.push(
          field.invalid(
            valuesPath.index(index),
            value,
            "for 'Gt', 'Lt' operators, the value must be an integer",
          ),
        );
      });
      return errors;
    }
    default:
      return [field.notSupported(at.child('operator'), operator, OPERATORS)];
  }
}

/** Parses a decimal integer of 64 bits as Go's ParseInt does. */
function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,40}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
