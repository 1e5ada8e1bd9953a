// The mode ABAC: a user may do what a policy of the file permits.

import type { UserInfo } from '../../request.ts';
import type { Attributes, Authorizer, Decision, RulesAnswer } from '../authorizer.ts';
import type { AbacPolicy } from './policies.ts';

const READING = ['get', 'list', 'watch'];

export class AbacAuthorizer implements Authorizer {
  readonly #policies: readonly AbacPolicy[];

  constructor(policies: readonly AbacPolicy[]) {
    this.#policies = policies;
  }

  authorize(attributes: Attributes): Decision {
    const permits = (policy: AbacPolicy): boolean =>
      matchesUser(policy, attributes.user) &&
      (!policy.readonly || READING.includes(attributes.verb)) &&
      (attributes.isResourceRequest
        ? matchesResource(policy, attributes)
        : matchesPath(policy.nonResourcePath, attributes.path));
    return this.#policies.some(permits)
      ? { decision: 'allow', reason: '' }
      : { decision: 'noOpinion', reason: 'No policy matched.' };
  }

  rulesFor(user: UserInfo, namespace: string): RulesAnswer {
    const policies = this.#policies.filter(
      (policy) => matchesUser(policy, user) && matches(policy.namespace, namespace),
    );
    const verbsOf = (policy: AbacPolicy): readonly string[] => (policy.readonly ? READING : ['*']);
    return {
      resourceRules: policies.flatMap((policy) =>
        policy.resource === ''
          ? []
          : [
              {
                verbs: verbsOf(policy),
                apiGroups: [policy.apiGroup],
                resources: [policy.resource],
              },
            ],
      ),
      nonResourceRules: policies.flatMap((policy) =>
        policy.nonResourcePath === ''
          ? []
          : [{ verbs: verbsOf(policy), nonResourceURLs: [policy.nonResourcePath] }],
      ),
      incomplete: false,
    };
  }
}

const matches = (wanted: string, value: string): boolean => wanted === '*' || wanted === value;

/** A policy that names neither a user nor a group matches no user. */
function matchesUser({ user, group }: AbacPolicy, { name, groups }: UserInfo): boolean {
  if (user === '' && group === '') return false;
  return (
    (user === '' || matches(user, name)) &&
    (group === '' || group === '*' || groups.includes(group))
  );
}

function matchesResource(policy: AbacPolicy, attributes: Attributes): boolean {
  return (
    matches(policy.namespace, attributes.namespace) &&
    matches(policy.resource, attributes.resource) &&
    matches(policy.apiGroup, attributes.apiGroup)
  );
}

function matchesPath(wanted: string, path: string): boolean {
  if (matches(wanted, path)) return true;
  return wanted.endsWith('*') && path.startsWith(wanted.replace(/\*+$/, ''));
}
