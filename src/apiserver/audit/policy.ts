// An audit policy (audit.k8s.io/v1): which requests are recorded, and with how much of them. The
// first rule that matches a request decides.

import type { Attributes } from '../authorization/authorizer.ts';

/** How much is recorded: nothing; who and what; also the request's object; also the response's. */
export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type Level = (typeof LEVELS)[number];

/** When an event is recorded. ResponseStarted is for requests without a deadline, such as watches. */
export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type Stage = (typeof STAGES)[number];

/** Resources of one group; '*' for all groups. No resources: all of them. */
export interface GroupResources {
  readonly group: string;
  /** 'pods', 'pods/log', 'pods/*', '*' + '/scale', or '*'. */
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** An empty list does not restrict the rule. */
export interface AuditRule {
  readonly level: Level;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  /** '' stands for requests that are in no namespace. */
  readonly namespaces: readonly string[];
  /** Paths, of which the last character may be '*'. */
  readonly nonResourceURLs: readonly string[];
  /** Stages that are not recorded, in addition to those of the policy. */
  readonly omitStages: readonly Stage[];
  /** Default: that of the policy. */
  readonly omitManagedFields?: boolean;
}

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages: readonly Stage[];
  /** Whether objects are recorded without their managed fields. */
  readonly omitManagedFields: boolean;
}

/** The policy's decision about a request. */
export interface AuditDecision {
  readonly level: Level;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

const NOT_RECORDED: AuditDecision = {
  level: 'None',
  omitStages: new Set(),
  omitManagedFields: false,
};

/** Returns a function that decides about requests. A request that no rule matches is not recorded. */
export function evaluator(policy: AuditPolicy): (attributes: Attributes) => AuditDecision {
  const decided = policy.rules.map((rule) => ({
    rule,
    decision: {
      level: rule.level,
      omitStages: new Set([...policy.omitStages, ...rule.omitStages]),
      omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields,
    },
  }));
  return (attributes) =>
    decided.find(({ rule }) => matches(rule, attributes))?.decision ?? NOT_RECORDED;
}

const permits = (values: readonly string[], value: string): boolean =>
  values.length === 0 || values.includes(value);

function matches(rule: AuditRule, attributes: Attributes): boolean {
  const { user, verb } = attributes;
  if (!permits(rule.users, user.name) || !permits(rule.verbs, verb)) return false;
  if (rule.userGroups.length > 0 && !user.groups.some((name) => rule.userGroups.includes(name)))
    return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0)
    return attributes.isResourceRequest && matchesResource(rule, attributes);
  if (rule.nonResourceURLs.length > 0)
    return (
      !attributes.isResourceRequest &&
      rule.nonResourceURLs.some((spec) => matchesPath(spec, attributes.path))
    );
  return true;
}

function matchesPath(spec: string, path: string): boolean {
  return spec === path || (spec.endsWith('*') && path.startsWith(spec.slice(0, -1)));
}

function matchesResource(
  { namespaces, resources }: AuditRule,
  { apiGroup, namespace, name, resource, subresource }: Attributes,
): boolean {
  if (!permits(namespaces, namespace)) return false;
  if (resources.length === 0) return true;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  const names = (spec: string): boolean =>
    spec === '*' ||
    spec === whole ||
    spec === `${resource}/*` ||
    (subresource !== '' && spec === `*/${subresource}`);
  return resources.some(
    (group) =>
      (group.group === '*' || group.group === apiGroup) &&
      (group.resources.length === 0 ||
        (permits(group.resourceNames, name) && group.resources.some(names))),
  );
}
