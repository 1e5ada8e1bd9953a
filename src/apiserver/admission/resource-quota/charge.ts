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

const NONE: Charge = { kind: 'none' };

export function chargeOf(
  quota: ReadQuota,
  evaluator: QuotaEvaluator,
  attributes: AdmissionAttributes,
  facts: QuotaFacts,
): Charge {
  const { object, oldObject, operation, resource } = attributes;
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
  const usage = evaluator.usage(object, facts);
  const negative = [...usage].flatMap(([key, amount]) => (amount.sign() < 0 ? [key] : []));
  if (negative.length > 0) {
    return {
      kind: 'refused',
      message: `quota usage is negative for resource(s): ${negative.toSorted().join(',')}`,
    };
  }
  const counted =
    operation === 'UPDATE' &&
    oldObject !== undefined &&
    isInScopes(quota.spec, resource, oldObject);
  const more = growth(usage, counted ? evaluator.usage(oldObject, facts) : new Map());
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
