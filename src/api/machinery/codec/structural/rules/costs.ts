// The estimated costs of a schema's rules. The cost of a rule is the cost of its expression, times
// the maximal number of its values in one object. The costs of all rules are added up.

import {
  type Schema,
  minimalSize,
  STATIC_COST_LIMIT,
  STATIC_COST_TOTAL_LIMIT,
} from '#cel/index.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { JSONSchemaProps } from '../json-schema-props.ts';

/**
 * The largest request in bytes, which limits the number of values if lists and maps have no limits.
 */
const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

/** The value of costs beyond 64 bits. */
const MAX_COST = 2 ** 64;

/** The maximum number of expressions that are named if the total is too large. */
const MAX_NAMED = 4;

/**
 * Returns the maximal number of values of the node in an object, which is limited by its size in
 * bytes.
 */
export function maxOccurrences(source: JSONSchemaProps, isResource: boolean): number {
  const size = minimalSize(source as Schema, isResource) ?? 0;
  return Math.floor(MAX_REQUEST_BYTES / (size + 1));
}

/**
 * Returns the maximal number of children of a value of the schema: 1 for a field. Undefined: there
 * is no limit.
 */
export function maxChildren(source: JSONSchemaProps): number | undefined {
  const { type, additionalProperties, maxProperties, maxItems } = source;
  if (type === 'object' && (additionalProperties ?? undefined) !== undefined)
    return atLeastZero(maxProperties);
  return type === 'array' ? atLeastZero(maxItems) : 1;
}

const atLeastZero = (limit: number | null | undefined): number | undefined =>
  limit === undefined || limit === null ? undefined : Math.max(0, limit);

export const multiplyCosts = (a: number, b: number): number => Math.min(a * b, MAX_COST);

interface Contributor {
  readonly at: FieldPath;
  readonly cost: number;
}

/** The cost of all rules of one schema. */
export class TotalCost {
  #total = 0;
  #mostExpensive: readonly Contributor[] = [];

  add(at: FieldPath, cost: number): void {
    this.#total = Math.min(this.#total + cost, MAX_COST);
    if (cost < STATIC_COST_TOTAL_LIMIT / 100) return;
    this.#mostExpensive = [...this.#mostExpensive, { at, cost }]
      .sort((a, b) => b.cost - a.cost)
      .slice(0, MAX_NAMED);
  }

  /** Returns the errors if the rules together cost too much. `at`: the path of the schema. */
  errors(at: FieldPath): FieldErrorList {
    if (this.#total <= STATIC_COST_TOTAL_LIMIT) return [];
    const detail =
      'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const name = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    return [
      ...this.#mostExpensive.map((expensive) => field.forbidden(expensive.at, detail)),
      field.forbidden(at, exceeded(name, this.#total, STATIC_COST_TOTAL_LIMIT)),
    ];
  }
}

/** Returns the error if one expression costs too much. */
export function expressionCostErrors(at: FieldPath, name: string, cost: number): FieldErrorList {
  return cost > STATIC_COST_LIMIT
    ? [field.forbidden(at, exceeded(name, cost, STATIC_COST_LIMIT))]
    : [];
}

function exceeded(name: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? 'more than 100x' : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`;
  return (
    `${name} exceeds budget by factor of ${shown} (try simplifying the rule, ` +
    'or adding maxItems, maxProperties, and maxLength ' +
    'where arrays, maps, and strings are declared)'
  );
}
