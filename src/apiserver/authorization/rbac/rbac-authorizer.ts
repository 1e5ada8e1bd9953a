// Authorizes by roles and bindings: a user with a binding may do what the rules of its role allow, everywhere or within a namespace.

import { quote } from '#machinery/text/go-format.ts';
import type { PolicyRule } from '#api/groups/rbac/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { UserInfo } from '#apiserver/request.ts';
import {
  ALLOW,
  type Attributes,
  type Authorizer,
  type Decision,
  NO_OPINION,
  type RulesAnswer,
} from '../authorizer.ts';
import { allows } from './rules.ts';
import type { Binding, RoleCache } from './role-cache.ts';

export class RbacAuthorizer implements Authorizer {
  readonly #roles: Pick<RoleCache, 'bindingsOf' | 'rulesOf'>;

  constructor(roles: Pick<RoleCache, 'bindingsOf' | 'rulesOf'>) {
    this.#roles = roles;
  }

  authorize(attributes: Attributes): Decision {
    let missing: Binding[] | undefined;
    for (const binding of this.#roles.bindingsOf(attributes.user)) {
      if (!holds(binding, attributes)) continue;
      const rules = this.#roles.rulesOf(binding);
      if (rules === undefined) (missing ??= []).push(binding);
      else if (rules.some((rule) => allows(rule, attributes))) return ALLOW;
    }
    return missing === undefined
      ? NO_OPINION
      : { decision: 'noOpinion', reason: `RBAC: ${missingRoles(missing)}` };
  }

  rulesFor(user: UserInfo, namespace: string): RulesAnswer {
    const rules = this.rulesIn(user, namespace);
    return {
      resourceRules: rules.flatMap(({ verbs, apiGroups = [], resources = [], resourceNames }) =>
        resources.length === 0
          ? []
          : [
              {
                verbs,
                apiGroups,
                resources,
                ...(resourceNames !== undefined && { resourceNames }),
              },
            ],
      ),
      nonResourceRules: rules.flatMap(({ verbs, nonResourceURLs = [] }) =>
        nonResourceURLs.length === 0 ? [] : [{ verbs, nonResourceURLs }],
      ),
      incomplete: false,
    };
  }

  /** All rules that hold for a user in a namespace; those of the whole cluster if it is ''. */
  rulesIn(user: UserInfo, namespace: string): readonly Immutable<PolicyRule>[] {
    return [...this.#roles.bindingsOf(user)].flatMap((binding) =>
      binding.namespace === undefined || binding.namespace === namespace
        ? (this.#roles.rulesOf(binding) ?? [])
        : [],
    );
  }
}

function holds({ namespace }: Binding, attributes: Attributes): boolean {
  return (
    namespace === undefined || (attributes.isResourceRequest && namespace === attributes.namespace)
  );
}

/** Joins several errors, in brackets. */
function missingRoles(bindings: readonly Binding[]): string {
  const messages = bindings.map(({ role }) => {
    const resource = role.kind === 'ClusterRole' ? 'clusterrole' : 'role';
    return `${resource}.rbac.authorization.k8s.io ${quote(role.name)} not found`;
  });
  return messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]`;
}
