// Quotas: the usage of objects, and the quotas that apply to them. Used by admission and by the
// quota controller.

export {
  addAmounts,
  amountsOf,
  amountsText,
  growth,
  listOf,
  only,
  sameAmounts,
} from './amounts.ts';
export type { Amounts } from './amounts.ts';
export { isInScopes, limitedNames, scopesOf } from './scopes.ts';
export { countName, evaluatorOf, isUncounted, podAmounts, resourceOfLimit } from './usage.ts';
export type { GroupResource, QuotaEvaluator } from './usage.ts';
