// Computes the usage that a request adds to a quota.

import type { ResourceQuota } from '#api/groups/core/v1/index.ts';
import {
  addAmounts,
  amountsOf,
  amountsText,
  growth,
  isInScopes,
  limitedNames,
  only,
  type Amounts,
  type QuotaEvaluator,
  type QuotaFacts,
} from '#api/groups/core/v1/quota/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionAttributes } from '../plugin.ts';

export type ReadQuota = Immutable<ResourceQuota>;

export type Charge =
  | { readonly kind: 'none' }
  /** The total usage after the request. */
  | { readonly kind: 'charged'; readonly used: Amounts }
  | { readonly kind: 'refused'; readonly message: string };

/** The part that a quota has in a request, before any usage is added. */
export type Interest =
  | { readonly kind: 'none' }
  /** The names of its limits for such objects. */
  | { readonly kind: 'limits'; readonly names: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string };

const NONE = { kind: 'none' } as const;

export function interestOf(
  quota: ReadQuota,
  evaluator: QuotaEvaluator,
  { object, resource }: AdmissionAttributes,
  facts: QuotaFacts,
): Interest {
  const { name } = quota.metadata;
  const names = limitedNames(quota, evaluator, facts.extendedResources);
  if (object === undefined || names.length === 0 || !isInScopes(quota.spec, resource, object))
    return NONE;
  const problem = evaluator.problem?.(object, names);
  if (problem !== undefined)
    return { kind: 'refused', message: `failed quota: ${name}: ${problem}` };
  const used = amountsOf(quota.status.used);
  if (!names.every((limited) => used.has(limited))) {
    return {
      kind: 'refused',
      message: `status unknown for quota: ${name}, resources: ${names.toSorted().join(',')}`,
    };
  }
  return { kind: 'limits', names };
}

/**
 * Returns the usage that the request adds. An object that the quota counted before adds the
 * difference. `quota` undefined: none is asked.
 */
export function usageGrowth(
  quota: ReadQuota | undefined,
  evaluator: QuotaEvaluator,
  { object, oldObject, operation, resource }: AdmissionAttributes,
  facts: QuotaFacts,
): Amounts {
  const counted =
    operation === 'UPDATE' &&
    oldObject !== undefined &&
    (quota === undefined || isInScopes(quota.spec, resource, oldObject));
  return growth(
    evaluator.usage(object, facts),
    counted ? evaluator.usage(oldObject, facts) : new Map(),
  );
}

export function chargeOf(
  quota: ReadQuota,
  evaluator: QuotaEvaluator,
  attributes: AdmissionAttributes,
  facts: QuotaFacts,
): Charge {
  const { object } = attributes;
  const { name } = quota.metadata;
  const interest = interestOf(quota, evaluator, attributes, facts);
  if (interest.kind !== 'limits') return interest;
  const used = amountsOf(quota.status.used);
  const usage = evaluator.usage(object, facts);
  const negative = [...usage].flatMap(([key, amount]) => (amount.sign() < 0 ? [key] : []));
  if (negative.length > 0) {
    return {
      kind: 'refused',
      message: `quota usage is negative for resource(s): ${negative.toSorted().join(',')}`,
    };
  }
  const more = usageGrowth(quota, evaluator, attributes, facts);
  const requested = only(more, new Set(Object.keys(quota.status.hard ?? {})));
  if (requested.size === 0) return NONE;
  const hard = amountsOf(quota.status.hard);
  const total = addAmounts(used, requested);
  const exceeded = new Set(
    [...requested.keys()].filter((key) => {
      const [wanted, limit] = [total.get(key), hard.get(key)];
      return wanted !== undefined && limit !== undefined && wanted.cmp(limit) > 0;
    }),
  );
  if (exceeded.size === 0) return { kind: 'charged', used: total };
  const [asked, had, limited] = [requested, used, hard].map((amounts) =>
    amountsText(only(amounts, exceeded)),
  );
  return {
    kind: 'refused',
    message: `exceeded quota: ${name}, requested: ${asked}, used: ${had}, limited: ${limited}`,
  };
}
