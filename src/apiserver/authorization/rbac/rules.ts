// Evaluates rules: whether a rule allows a request, and whether rules cover others.

import type { PolicyRule } from '#api/groups/rbac/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Attributes } from '../authorizer.ts';

type Rule = Immutable<PolicyRule>;

const NONE: readonly string[] = [];

/**
 * Reports whether the rule allows a request with these attributes. The user does not matter here.
 */
export function allows(rule: Rule, attributes: Omit<Attributes, 'user'>): boolean {
  const { verb, path, apiGroup, resource, subresource, name } = attributes;
  if (!includes(rule.verbs, verb)) return false;
  if (!attributes.isResourceRequest)
    return (rule.nonResourceURLs ?? NONE).some((url) => pathCovers(url, path));
  const { apiGroups = NONE, resources = NONE, resourceNames = NONE } = rule;
  if (!includes(apiGroups, apiGroup) || !resourceCovered(resources, resource, subresource))
    return false;
  return resourceNames.length === 0 || resourceNames.includes(name);
}

/**
 * Reports whether the rule's resources cover one such as 'pods/log', given as `resource` and
 * `subresource`. '*' + '/scale' covers 'x/scale'.
 */
function resourceCovered(
  resources: readonly string[],
  resource: string,
  subresource: string,
): boolean {
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  return (
    includes(resources, full) || (subresource !== '' && resources.includes(`*/${subresource}`))
  );
}

/** Reports whether a pattern covers a path. `*` is a wildcard only at the end of the pattern. */
function pathCovers(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)));
}

/**
 * Returns the parts of `wanted` that `held` does not cover. Each part has one verb, and one
 * resource of one group or one path.
 */
export function uncovered(held: readonly Rule[], wanted: readonly Rule[]): PolicyRule[] {
  return wanted.flatMap(parts).filter((part) => !held.some((rule) => covers(rule, part)));
}

/**
 * Reports whether `held` covers a part. `held` must not be split into parts: a single rule with the
 * verb '*' covers it, a set of single verbs does not.
 */
function covers(held: Rule, part: Rule): boolean {
  if (!covered(part.verbs, held.verbs)) return false;
  const paths = part.nonResourceURLs ?? NONE;
  if (paths.length > 0)
    return paths.every((path) =>
      (held.nonResourceURLs ?? NONE).some((pattern) => pathCovers(pattern, path)),
    );
  if (!covered(part.apiGroups ?? NONE, held.apiGroups ?? NONE)) return false;
  const resources = held.resources ?? NONE;
  const all = (part.resources ?? NONE).every((each) => {
    const [resource = '', subresource = ''] = each.split('/');
    return resourceCovered(resources, resource, subresource);
  });
  if (!all) return false;
  const names = held.resourceNames ?? NONE;
  if (names.length === 0) return true;
  const wantedNames = part.resourceNames ?? NONE;
  return wantedNames.length > 0 && wantedNames.every((name) => names.includes(name));
}

const covered = (wanted: readonly string[], held: readonly string[]): boolean =>
  wanted.every((each) => includes(held, each));

function parts(rule: Rule): PolicyRule[] {
  const {
    verbs,
    apiGroups = NONE,
    resources = NONE,
    resourceNames = NONE,
    nonResourceURLs = NONE,
  } = rule;
  const ofPaths = nonResourceURLs.flatMap((path) =>
    (verbs ?? NONE).map((verb) => ({ verbs: [verb], nonResourceURLs: [path] })),
  );
  const ofResources = apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      (verbs ?? NONE).flatMap((verb): PolicyRule[] => {
        const part = { verbs: [verb], apiGroups: [group], resources: [resource] };
        return resourceNames.length === 0
          ? [part]
          : resourceNames.map((name) => ({ ...part, resourceNames: [name] }));
      }),
    ),
  );
  return [...ofPaths, ...ofResources];
}

function includes(list: readonly string[] | null, value: string): boolean {
  return list !== null && (list.includes('*') || list.includes(value));
}
