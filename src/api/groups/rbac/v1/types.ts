// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A rule that allows actions. It is for resources, or for paths that are not resources. */
export interface PolicyRule {
  /** The verbs, such as get, list and watch. "*": all. */
  verbs: string[];
  /** The API groups. "": the core group; "*": all. */
  apiGroups?: string[];
  /** The resources, also with a subresource (pods/log). "*": all. */
  resources?: string[];
  /** The names of objects. Empty: all. */
  resourceNames?: string[];
  /** Paths such as /healthz, also with "*" at the end. "*": all. */
  nonResourceURLs?: string[];
}

/** A user, a group or a service account. */
export interface Subject {
  /** User, Group or ServiceAccount. */
  kind: string;
  /** rbac.authorization.k8s.io for users and groups, empty for service accounts. */
  apiGroup?: string;
  /** The name. */
  name: string;
  /** The namespace of a service account. */
  namespace?: string;
}

/** The role of a binding. It cannot be changed. */
export interface RoleRef {
  /** rbac.authorization.k8s.io. */
  apiGroup: string;
  /** Role or ClusterRole. */
  kind: string;
  /** The name of the role. */
  name: string;
}

/** Rules for one namespace. */
export interface Role extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The rules. */
  rules: PolicyRule[] | null;
}

/** Grants a role to subjects, within one namespace. */
export interface RoleBinding extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The subjects. */
  subjects?: Subject[];
  /** A role of the namespace, or a cluster role. */
  roleRef: RoleRef;
}

/** A list of RoleBinding objects. */
export interface RoleBindingList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: RoleBinding[];
}

/** A list of Role objects. */
export interface RoleList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Role[];
}

/** Rules for the cluster, or for use in any namespace. */
export interface ClusterRole extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The rules. */
  rules: PolicyRule[] | null;
  /** Cluster roles whose rules are combined into this one. A controller writes the rules then. */
  aggregationRule?: AggregationRule;
}

/** Which cluster roles are combined. */
export interface AggregationRule {
  /** Label selectors. Roles that match any of them count. */
  clusterRoleSelectors?: meta.LabelSelector[];
}

/** Grants a cluster role to subjects, in all namespaces. */
export interface ClusterRoleBinding extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The subjects. */
  subjects?: Subject[];
  /** The cluster role. */
  roleRef: RoleRef;
}

/** A list of ClusterRoleBinding objects. */
export interface ClusterRoleBindingList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ClusterRoleBinding[];
}

/** A list of ClusterRole objects. */
export interface ClusterRoleList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ClusterRole[];
}
