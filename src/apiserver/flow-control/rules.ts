// Matches requests against the rules of FlowSchemas. Pure.

import type * as flowcontrol from '#api/groups/flowcontrol/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { RequestInfo, UserInfo } from '../request.ts';

export type FlowSchema = Immutable<flowcontrol.FlowSchema>;
export type PolicyRules = Immutable<flowcontrol.PolicyRulesWithSubjects>;
type Subject = Immutable<flowcontrol.Subject>;
type ResourceRule = Immutable<flowcontrol.ResourcePolicyRule>;
type NonResourceRule = Immutable<flowcontrol.NonResourcePolicyRule>;

const ALL = '*';
const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';

/** Reports whether one of the subjects is this user. */
export function matchesSubjects(subjects: readonly Subject[], user: UserInfo): boolean {
  return subjects.some((subject) => matchesSubject(subject, user));
}

/** Reports whether a request is one of those that the rules describe, whatever its user. */
export function matchesRequest(
  { resourceRules = [], nonResourceRules = [] }: PolicyRules,
  info: RequestInfo,
): boolean {
  return info.isResourceRequest
    ? resourceRules.some((rule) => matchesResource(rule, info))
    : nonResourceRules.some((rule) => matchesPath(rule, info));
}

function matchesSubject({ kind, user, group, serviceAccount }: Subject, of: UserInfo): boolean {
  switch (kind) {
    case 'User':
      return user !== undefined && (user.name === ALL || user.name === of.name);
    case 'Group':
      return group !== undefined && (group.name === ALL || of.groups.includes(group.name));
    case 'ServiceAccount': {
      if (serviceAccount === undefined) return false;
      const prefix = `${SERVICE_ACCOUNT_PREFIX}${serviceAccount.namespace}:`;
      return serviceAccount.name === ALL
        ? of.name.startsWith(prefix)
        : of.name === prefix + serviceAccount.name;
    }
    default:
      return false;
  }
}

function matchesResource(rule: ResourceRule, info: RequestInfo): boolean {
  const { verb, apiGroup, resource, subresource, namespace } = info;
  if (!contains(rule.verbs, verb) || !contains(rule.apiGroups, apiGroup)) return false;
  if (!isAll(rule.resources)) {
    const full = subresource === '' ? resource : `${resource}/${subresource}`;
    if (!rule.resources.includes(full)) return false;
  }
  return namespace === '' ? rule.clusterScope === true : contains(rule.namespaces ?? [], namespace);
}

function matchesPath({ verbs, nonResourceURLs }: NonResourceRule, info: RequestInfo): boolean {
  return contains(verbs, info.verb) && nonResourceURLs.some((url) => covers(url, info.path));
}

/** Reports whether a path is the URL of a rule, or below it. */
function covers(url: string, path: string): boolean {
  if (url === ALL || url === path) return true;
  const prefix = url.endsWith(ALL) ? url.slice(0, -1) : url;
  return path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);
}

/** '*' stands for all values only if it is the whole list, which validation ensures. */
function isAll(list: readonly string[]): boolean {
  return list.length === 1 && list[0] === ALL;
}

function contains(list: readonly string[], value: string): boolean {
  return isAll(list) || list.includes(value);
}
