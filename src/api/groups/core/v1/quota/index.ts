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
export { isInScopes, limitedNames, matchingScopes, scopesOf } from './scopes.ts';
export { DEVICE_CLAIMS, isDeviceLimit, podRefOf } from './device-claims.ts';
export { countName, factsAt } from './evaluator.ts';
export type { GroupResource, QuotaEvaluator, QuotaFacts } from './evaluator.ts';
export { extendedResourcesOf, NO_EXTENDED_RESOURCES } from './extended-resources.ts';
export type { ExtendedResources } from './extended-resources.ts';
export { podAmounts } from './pods.ts';
export { evaluatorOf, isUncounted, resourcesOfLimit } from './usage.ts';
