// Resources that may be used only where a quota counts them, as the operator configures
// (limitedResources): the rules that apply to a request beside those of its quotas.

import {
  matchingScopes,
  type QuotaEvaluator,
  type QuotaFacts,
  scopesOf,
} from '#api/groups/core/v1/quota/index.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import type { LimitedResource } from '../configuration.ts';
import { type Interest, type ReadQuota, usageGrowth } from './charge.ts';

/**
 * Returns why the request lacks a quota; undefined if it needs none, or has it. `interests`: those of
 * `quotas`, in the same order, without problems.
 */
export function coverageProblem(
  limited: readonly LimitedResource[],
  quotas: readonly ReadQuota[],
  interests: readonly Interest[],
  evaluator: QuotaEvaluator,
  attributes: AdmissionAttributes,
  facts: QuotaFacts,
): string | undefined {
  const { object, resource } = attributes;
  if (object === undefined) return undefined;
  const limitedScopes = limited.flatMap(({ matchScopes }) =>
    matchingScopes(matchScopes, resource, object),
  );
  const own = limited.filter(
    (each) => each.group === resource.group && each.resource === resource.resource,
  );
  const usage = own.length === 0 ? undefined : evaluator.usage(object, facts);
  const names = [...(usage ?? [])].flatMap(([name, amount]) =>
    amount.sign() > 0 && own.some((each) => each.matchContains.some((part) => name.includes(part)))
      ? [name]
      : [],
  );
  if (names.length === 0 && limitedScopes.length === 0) return undefined;
  const interesting = quotas.filter((_, index) => interests[index]?.kind === 'limits');
  const grows =
    interesting.length === 0
      ? usageGrowth(undefined, evaluator, attributes, facts).size > 0
      : interesting.some((quota) => usageGrowth(quota, evaluator, attributes, facts).size > 0);
  if (!grows) return undefined;
  const covered = new Set(interests.flatMap((each) => (each.kind === 'limits' ? each.names : [])));
  const uncovered = names.filter((name) => !covered.has(name)).toSorted();
  if (uncovered.length > 0) return `insufficient quota to consume: ${uncovered.join(',')}`;
  const coveredScopes = new Set(
    quotas.flatMap(({ spec }) =>
      matchingScopes(scopesOf(spec), resource, object).map(({ scopeName }) => scopeName),
    ),
  );
  const open = limitedScopes.filter(({ scopeName }) => !coveredScopes.has(scopeName));
  if (open.length === 0) return undefined;
  const texts = open.map(
    ({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(' ')}]}`,
  );
  return `insufficient quota to match these scopes: [${texts.join(' ')}]`;
}
