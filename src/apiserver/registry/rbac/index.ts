// The resources of the group rbac.authorization.k8s.io.

import type { ServedResource } from '../rest.ts';
import type { RegistryServices } from '../services.ts';
import { clusterRoleBindingResource } from './cluster-role-binding/index.ts';
import { clusterRoleResource } from './cluster-role/index.ts';
import { roleBindingResource } from './role-binding/index.ts';
import { roleResource } from './role/index.ts';

export function rbacResources(services: RegistryServices): readonly ServedResource[] {
  return [
    clusterRoleBindingResource(services),
    clusterRoleResource(services),
    roleBindingResource(services),
    roleResource(services),
  ];
}
