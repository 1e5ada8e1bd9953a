// A compact notation for the roles of every cluster: words separated by spaces.

import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  Subject,
} from '#api/groups/rbac/v1/index.ts';
import { GROUP } from '#api/groups/rbac/v1/defaults.ts';

type Metadata = { readonly metadata: { readonly name: string; readonly namespace?: string } };
export type NewClusterRole = Omit<ClusterRole, 'metadata'> & Metadata;
export type NewClusterRoleBinding = Omit<ClusterRoleBinding, 'metadata'> & Metadata;
export type NewRole = Omit<Role, 'metadata'> & Metadata;
export type NewRoleBinding = Omit<RoleBinding, 'metadata'> & Metadata;

/** The label of objects that the API server maintains. Tools use it. */
const LABELS = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
/** 'true': missing rules are added at every start. 'false' keeps changes of users. */
export const AUTO_UPDATE_ANNOTATION = 'rbac.authorization.kubernetes.io/autoupdate';

export const READ = 'get list watch';
export const WRITE = 'create delete deletecollection patch update';

const words = (text: string): string[] => text.split(' ').sort();

/**
 * Returns a rule. `groups`: '' is the core group. `names`: restricts the rule to objects with these
 * names.
 */
export function can(
  verbs: string,
  groups: string | readonly string[],
  resources: string,
  names?: string,
): PolicyRule {
  return {
    verbs: words(verbs),
    apiGroups: typeof groups === 'string' ? [groups] : [...groups].sort(),
    resources: words(resources),
    ...(names !== undefined && { resourceNames: words(names) }),
  };
}

/** Returns a rule for non-resource paths. */
export function canGet(paths: string): PolicyRule {
  return { verbs: ['get'], nonResourceURLs: words(paths) };
}

export const EVENT_GROUPS = ['', 'events.k8s.io'] as const;
export const WRITE_EVENTS = can('create update patch', EVENT_GROUPS, 'events');

const bootstrapMetadata = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
  name,
  labels: { ...LABELS, ...labels },
  annotations: { [AUTO_UPDATE_ANNOTATION]: 'true' },
});

export function clusterRole(
  name: string,
  rules: readonly PolicyRule[],
  labels?: Readonly<Record<string, string>>,
): NewClusterRole {
  return { metadata: bootstrapMetadata(name, labels), rules: [...rules] };
}

/** Returns a role that is aggregated from the roles with its label. */
export function aggregatedRole(
  name: string,
  labels?: Readonly<Record<string, string>>,
): NewClusterRole {
  return {
    metadata: bootstrapMetadata(name, labels),
    rules: null,
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateTo(name) }] },
  };
}

export function aggregateTo(role: string): Record<string, string> {
  return { [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' };
}

export const user = (name: string): Subject => ({ apiGroup: GROUP, kind: 'User', name });
export const group = (name: string): Subject => ({ apiGroup: GROUP, kind: 'Group', name });
export const account = (namespace: string, name: string): Subject => ({
  kind: 'ServiceAccount',
  name,
  namespace,
});

const ref = (kind: string, name: string) => ({ apiGroup: GROUP, kind, name });

/** Returns a binding with the name of its role. */
export function bindCluster(role: string, ...subjects: readonly Subject[]): NewClusterRoleBinding {
  return {
    metadata: bootstrapMetadata(role),
    roleRef: ref('ClusterRole', role),
    ...(subjects.length > 0 && { subjects: [...subjects] }),
  };
}

export function role(namespace: string, name: string, rules: readonly PolicyRule[]): NewRole {
  return { metadata: { ...bootstrapMetadata(name), namespace }, rules: [...rules] };
}

export function bind(
  namespace: string,
  roleName: string,
  subjects: readonly Subject[],
  name = roleName,
): NewRoleBinding {
  return {
    metadata: { ...bootstrapMetadata(name), namespace },
    roleRef: ref('Role', roleName),
    subjects: [...subjects],
  };
}
