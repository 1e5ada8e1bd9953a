// Rules as a list: whoever is the subject of one may do what it says. The form is RBAC's, without objects.

import type { UserInfo } from '../request.ts';
import { ALLOW, NO_OPINION } from './authorizer.ts';
import type { Attributes, Authorizer, Decision, NonResourceRule, ResourceRule, RulesAnswer } from './authorizer.ts';

export interface Subject {
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
}

export interface Grant {
  readonly subject: Subject;
  readonly resources?: readonly ResourceRule[];
  readonly nonResources?: readonly NonResourceRule[];
  /** Only within this namespace. Absent: everywhere. */
  readonly namespace?: string;
}

export class RuleAuthorizer implements Authorizer {
  readonly #grants: readonly Grant[];
  /** Grants per user: it is asked for the same few users again and again. */
  readonly #byUser = new WeakMap<UserInfo, readonly Grant[]>();

  constructor(grants: readonly Grant[]) {
    this.#grants = grants;
  }

  authorize(attributes: Attributes): Decision {
    return this.#grantsOf(attributes.user).some((grant) => covers(grant, attributes)) ? ALLOW : NO_OPINION;
  }

  rulesFor(user: UserInfo, namespace: string): RulesAnswer {
    const grants = this.#grantsOf(user).filter((grant) => grant.namespace === undefined || grant.namespace === namespace);
    return {
      resourceRules: grants.flatMap(({ resources = [] }) => resources),
      nonResourceRules: grants.flatMap(({ nonResources = [] }) => nonResources),
      incomplete: false,
    };
  }

  #grantsOf(user: UserInfo): readonly Grant[] {
    let grants = this.#byUser.get(user);
    if (grants === undefined) {
      grants = this.#grants.filter(({ subject }) => isSubject(subject, user));
      this.#byUser.set(user, grants);
    }
    return grants;
  }
}

function isSubject(subject: Subject, user: UserInfo): boolean {
  return subject.users?.includes(user.name) === true || subject.groups?.some((group) => user.groups.includes(group)) === true;
}

function covers(grant: Grant, attributes: Attributes): boolean {
  if (!attributes.isResourceRequest) return grant.nonResources?.some((rule) => coversPath(rule, attributes)) === true;
  if (grant.namespace !== undefined && grant.namespace !== attributes.namespace) return false;
  return grant.resources?.some((rule) => coversResource(rule, attributes)) === true;
}

function coversResource(rule: ResourceRule, { verb, apiGroup, resource, subresource, name }: Attributes): boolean {
  if (!includes(rule.verbs, verb) || !includes(rule.apiGroups, apiGroup)) return false;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  if (!includes(rule.resources, full) && !(subresource !== '' && rule.resources.includes(`*/${subresource}`))) return false;
  return rule.resourceNames === undefined || rule.resourceNames.length === 0 || rule.resourceNames.includes(name);
}

function coversPath(rule: NonResourceRule, { verb, path }: Attributes): boolean {
  if (!includes(rule.verbs, verb)) return false;
  return rule.nonResourceURLs.some((url) => (url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : url === path));
}

function includes(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}
