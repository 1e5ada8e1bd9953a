// The resources of the group rbac.authorization.k8s.io.

import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { clusterRoleBindingResource } from './cluster-role-binding.ts';
import { clusterRoleResource } from './cluster-role.ts';
import { roleBindingResource } from './role-binding.ts';
import { roleResource } from './role.ts';

export function rbacResources(services: RegistryServices): readonly Kind[] {
  return [
    clusterRoleBindingResource(services),
    clusterRoleResource(services),
    roleBindingResource(services),
    roleResource(services),
  ];
}
