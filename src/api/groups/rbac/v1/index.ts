// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const roles: ResourceType<types.Role> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'roles',
  singular: 'role',
  kind: 'Role',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const roleBindings: ResourceType<types.RoleBinding> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'rolebindings',
  singular: 'rolebinding',
  kind: 'RoleBinding',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const clusterRoles: ResourceType<types.ClusterRole> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterroles',
  singular: 'clusterrole',
  kind: 'ClusterRole',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const clusterRoleBindings: ResourceType<types.ClusterRoleBinding> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  kind: 'ClusterRoleBinding',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
};
