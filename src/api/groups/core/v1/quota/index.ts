// Quotas: what objects take, and which quotas they fall under. Admission charges by it, the controller counts by it.

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
