// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface Subject {
  kind: string;
  apiGroup?: string;
  name: string;
  namespace?: string;
}

export interface RoleRef {
  apiGroup: string;
  kind: string;
  name: string;
}

export interface Role extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  rules: PolicyRule[] | null;
}

export interface RoleBinding extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  subjects?: Subject[];
  roleRef: RoleRef;
}

export interface RoleBindingList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: RoleBinding[];
}

export interface RoleList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: Role[];
}

export interface ClusterRole extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  rules: PolicyRule[] | null;
  aggregationRule?: AggregationRule;
}

export interface AggregationRule {
  clusterRoleSelectors?: meta.LabelSelector[];
}

export interface ClusterRoleBinding extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  subjects?: Subject[];
  roleRef: RoleRef;
}

export interface ClusterRoleBindingList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ClusterRoleBinding[];
}

export interface ClusterRoleList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ClusterRole[];
}
