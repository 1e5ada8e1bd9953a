// Authorizes by roles and bindings: the subjects of a binding have the permissions of its role,
// everywhere or within a namespace.

import { quote } from '#machinery/text/go-format.ts';
import type { PolicyRule } from '#api/groups/rbac/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { UserInfo } from '#apiserver/request.ts';
import {
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
      else if (rules.some((rule) => allows(rule, attributes))) return binding.allowed;
    }
    return missing === undefined
      ? NO_OPINION
      : { decision: 'noOpinion', reason: `RBAC: ${missingRoles(missing)}` };
  }

  rulesFor(user: UserInfo, namespace: string): RulesAnswer {
    const rules = this.rulesIn(user, namespace);
    const missing = this.#bindingsIn(user, namespace).filter(
      (binding) => this.#roles.rulesOf(binding) === undefined,
    );
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
      ...(missing.length > 0 && { evaluationError: missingRoles(missing) }),
    };
  }

  /** Returns all rules for a user in a namespace; for '', those of cluster-wide bindings. */
  rulesIn(user: UserInfo, namespace: string): readonly Immutable<PolicyRule>[] {
    return this.#bindingsIn(user, namespace).flatMap(
      (binding) => this.#roles.rulesOf(binding) ?? [],
    );
  }

  /** Returns the bindings for a user in a namespace. As in upstream, cluster-wide ones come first. */
  #bindingsIn(user: UserInfo, namespace: string): readonly Binding[] {
    const bindings = [...this.#roles.bindingsOf(user)];
    return [
      ...bindings.filter((binding) => binding.namespace === undefined),
      ...bindings.filter((binding) => binding.namespace === namespace),
    ];
  }
}

function holds({ namespace }: Binding, attributes: Attributes): boolean {
  return (
    namespace === undefined || (attributes.isResourceRequest && namespace === attributes.namespace)
  );
}

/** Returns the message about missing roles. Several messages are joined in brackets. */
function missingRoles(bindings: readonly Binding[]): string {
  const messages = bindings.map(({ role }) => {
    const resource = role.kind === 'ClusterRole' ? 'clusterrole' : 'role';
    return `${resource}.rbac.authorization.k8s.io ${quote(role.name)} not found`;
  });
  return messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]`;
}
