// Kubelets may do what nodes need. Which objects are their node's business is asked by NodeRestriction for writes; for reads it is
// not asked yet.

import type { PolicyRule } from '../../api/rbac/v1/index.ts';
import type { UserInfo } from '../request.ts';
import { ALLOW, NO_OPINION } from './authorizer.ts';
import type { Attributes, Authorizer, Decision, RulesAnswer } from './authorizer.ts';
import { NODE_RULES } from './policy/cluster-roles.ts';
import { can } from './policy/words.ts';
import { allows } from './rbac/rules.ts';

const GROUP = 'system:nodes';
const USER_PREFIX = 'system:node:';

const RULES: readonly PolicyRule[] = [
  ...NODE_RULES,
  // A kubelet renews its own client certificate.
  can('create', 'certificates.k8s.io', 'certificatesigningrequests/selfnodeclient'),
];

/** The name alone makes no node, nor does the group. */
const isNode = ({ name, groups }: UserInfo): boolean =>
  name.startsWith(USER_PREFIX) && name.length > USER_PREFIX.length && groups.includes(GROUP);

export const nodeAuthorizer: Authorizer = {
  authorize(attributes: Attributes): Decision {
    return isNode(attributes.user) && RULES.some((rule) => allows(rule, attributes)) ? ALLOW : NO_OPINION;
  },
  rulesFor(user: UserInfo): RulesAnswer {
    // They depend on the node's pods: no list says them.
    return { resourceRules: [], nonResourceRules: [], incomplete: isNode(user) };
  },
};
