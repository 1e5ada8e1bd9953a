// Decides whether a policy, or one of its bindings, matches a request: by resource rules, and by
// selectors on the namespace and the object.

import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { labelSelectorAsSelector, type Selector } from '#machinery/selectors/labels.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import type { GroupVersionResource, PolicyRequest, ResourceAndKind } from './request.ts';

export type MatchResources = Immutable<admission.MatchResources>;
type Rule = Immutable<admission.NamedRuleWithOperations>;

/**
 * Returns the resource and kind under which the request matches: the requested ones, or an
 * equivalent version that a rule names. Undefined: the request does not match. Throws an Error if
 * that cannot be decided: a selector is invalid, or the namespace does not exist.
 */
export async function matchRequest(
  match: MatchResources,
  request: PolicyRequest,
): Promise<ResourceAndKind | undefined> {
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = match;
  const rules = resourceRules ?? [];
  const equivalent = matchPolicy === 'Equivalent';
  // Rules are checked first: they need no lookups, and exclude most requests.
  const matched = rules.length === 0 ? request.requested : matchRules(rules, equivalent, request);
  if (
    matched === undefined ||
    matchRules(excludeResourceRules ?? [], equivalent, request) !== undefined
  )
    return undefined;
  // A selector that does not match overrides a selector with an error.
  const namespace = await attempt(() => namespaceMatches(match, request));
  if (namespace === false) return undefined;
  const object = await attempt(() => objectMatches(match, request.attributes));
  if (object === false) return undefined;
  for (const outcome of [namespace, object]) if (outcome instanceof Error) throw outcome;
  return matched;
}

/**
 * Reports whether the rules may match a request of this kind, whatever its name and its content are:
 * for requests that differ in them alone the result is the same. Selectors count as matching.
 */
export function mayMatch(match: MatchResources, request: PolicyRequest): boolean {
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = match;
  const rules = resourceRules ?? [];
  const equivalent = matchPolicy === 'Equivalent';
  const excluded = (excludeResourceRules ?? []).filter((rule) => isForAllNames(rule));
  return (
    (rules.length === 0 || matchRules(rules, equivalent, request, coversKind) !== undefined) &&
    matchRules(excluded, equivalent, request, coversKind) === undefined
  );
}

async function attempt(test: () => boolean | Promise<boolean>): Promise<boolean | Error> {
  try {
    return await test();
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

/** Reports whether the namespace selector matches. It always matches cluster-scoped objects. */
async function namespaceMatches(
  { namespaceSelector }: MatchResources,
  request: PolicyRequest,
): Promise<boolean> {
  if (request.namespace === '' && !request.isNamespace) return true;
  const selector = selectorOf(namespaceSelector, 'namespace');
  if (selector.empty()) return true;
  const { operation, subresource, object } = request.attributes;
  // The new labels of the namespace count, not the stored ones.
  if (
    request.isNamespace &&
    subresource === '' &&
    (operation === 'CREATE' || operation === 'UPDATE')
  ) {
    return selector.matches(object?.metadata.labels);
  }
  const namespace = await request.findNamespace();
  if (namespace === undefined)
    throw apierrors.notFound({ group: '', resource: 'namespaces' }, request.namespace);
  return selector.matches(namespace.metadata.labels);
}

function objectMatches(
  { objectSelector }: MatchResources,
  { object, oldObject }: AdmissionAttributes,
): boolean {
  const selector = selectorOf(objectSelector, 'object');
  if (selector.empty()) return true;
  return [object, oldObject].some(
    (one) => one?.metadata !== undefined && selector.matches(one.metadata.labels),
  );
}

const selectors = new WeakMap<object, Selector>();

function selectorOf(selector: MatchResources['objectSelector'], what: string): Selector {
  if (selector === undefined) {
    throw new Error(
      `a nil ${what} selector was passed, please ensure selectors are initialized properly`,
    );
  }
  let parsed = selectors.get(selector);
  if (parsed === undefined) {
    parsed = labelSelectorAsSelector(selector);
    selectors.set(selector, parsed);
  }
  return parsed;
}

function matchRules(
  rules: readonly Rule[],
  equivalent: boolean,
  request: PolicyRequest,
  matches = ruleMatches,
): ResourceAndKind | undefined {
  const { requested } = request;
  if (rules.some((rule) => matches(rule, requested.resource, request))) return requested;
  if (!equivalent || rules.length === 0) return undefined;
  for (const rule of rules) {
    const equivalentResource = request.equivalents.find(({ resource }) =>
      matches(rule, resource, request),
    );
    if (equivalentResource !== undefined) return equivalentResource;
  }
  return undefined;
}

function ruleMatches(rule: Rule, resource: GroupVersionResource, request: PolicyRequest): boolean {
  return (
    coversKind(rule, resource, request) &&
    (isForAllNames(rule) || rule.resourceNames?.includes(request.attributes.name) === true)
  );
}

const isForAllNames = ({ resourceNames }: Rule): boolean => (resourceNames ?? []).length === 0;

/** Reports whether the rule matches the request if it matches its name. */
function coversKind(rule: Rule, resource: GroupVersionResource, request: PolicyRequest): boolean {
  const { operation, subresource } = request.attributes;
  return (
    includes(rule.operations, operation) &&
    includes(rule.apiGroups, resource.group) &&
    includes(rule.apiVersions, resource.version) &&
    (rule.resources ?? []).some((pattern) =>
      resourceMatches(pattern, resource.resource, subresource),
    ) &&
    scopeMatches(rule.scope, request)
  );
}

function includes(items: readonly string[] | null | undefined, wanted: string): boolean {
  return items?.some((item) => item === '*' || item === wanted) ?? false;
}

/**
 * Reports whether a pattern such as 'pods', 'pods/status', 'pods/*', '*', '*\/scale' or '*\/*'
 * matches the resource.
 */
function resourceMatches(pattern: string, resource: string, subresource: string): boolean {
  const slash = pattern.indexOf('/');
  const resourcePattern = slash < 0 ? pattern : pattern.slice(0, slash);
  const part = slash < 0 ? '' : pattern.slice(slash + 1);
  return (
    (resourcePattern === '*' || resourcePattern === resource) &&
    (part === '*' || part === subresource)
  );
}

/** Reports whether the scope matches. Namespaces are cluster-scoped. */
function scopeMatches(scope: Rule['scope'], { namespace, isNamespace }: PolicyRequest): boolean {
  const namespaced = namespace !== '' && !isNamespace;
  switch (scope) {
    case 'Namespaced':
      return namespaced;
    case 'Cluster':
      return !namespaced;
    default:
      return true;
  }
}
