// Subjects that RBAC allows an action, computed from roles and bindings. Other authorizers (Node,
// webhooks) are not asked, and the group system:masters is allowed everything without a binding.

export interface Rule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface Role {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[] | null;
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface Binding {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly Subject[] | null;
}

export interface Action {
  readonly verb: string;
  readonly group: string;
  /** With a subresource: 'pods/exec'. */
  readonly resource: string;
  /** '' for cluster-scoped objects, and for all namespaces. */
  readonly namespace: string;
  /** '' for any name. */
  readonly name: string;
}

export interface Rbac {
  readonly roles: readonly Role[];
  readonly clusterRoles: readonly Role[];
  readonly roleBindings: readonly Binding[];
  readonly clusterRoleBindings: readonly Binding[];
}

export interface Grant {
  readonly subject: Subject;
  readonly binding: Binding;
  readonly role: { readonly kind: string; readonly name: string };
  /** The rule allows only these names. */
  readonly onlyNames: readonly string[];
}

/** Returns the grants of an action, sorted by subject. */
export function whoCan(rbac: Rbac, action: Action): readonly Grant[] {
  const clusterRoles = new Map(rbac.clusterRoles.map((role) => [role.metadata.name, role]));
  const roles = new Map(
    rbac.roles.map((role) => [`${role.metadata.namespace}/${role.metadata.name}`, role]),
  );
  const bindings = [
    ...rbac.clusterRoleBindings,
    ...(action.namespace === ''
      ? []
      : rbac.roleBindings.filter(({ metadata }) => metadata.namespace === action.namespace)),
  ];
  const grants = bindings.flatMap((binding): Grant[] => {
    const { kind, name } = binding.roleRef;
    const role =
      kind === 'ClusterRole'
        ? clusterRoles.get(name)
        : roles.get(`${binding.metadata.namespace}/${name}`);
    const rules = (role?.rules ?? []).filter((rule) => allows(rule, action));
    if (rules.length === 0) return [];
    const unrestricted = rules.some(({ resourceNames = [] }) => resourceNames.length === 0);
    const onlyNames = unrestricted ? [] : rules.flatMap(({ resourceNames = [] }) => resourceNames);
    return (binding.subjects ?? []).map((subject) => ({
      subject,
      binding,
      role: { kind, name },
      onlyNames,
    }));
  });
  return grants.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const keyOf = ({ subject }: Grant): string =>
  `${subject.kind}/${subject.namespace ?? ''}/${subject.name}`;

function allows(rule: Rule, { verb, group, resource, name }: Action): boolean {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [] } = rule;
  return (
    has(verbs, verb) &&
    has(apiGroups, group) &&
    hasResource(resources, resource) &&
    (resourceNames.length === 0 || name === '' || resourceNames.includes(name))
  );
}

const has = (list: readonly string[], wanted: string): boolean =>
  list.includes('*') || list.includes(wanted);

function hasResource(resources: readonly string[], wanted: string): boolean {
  const slash = wanted.indexOf('/');
  return has(resources, wanted) || (slash !== -1 && resources.includes(`*${wanted.slice(slash)}`));
}
