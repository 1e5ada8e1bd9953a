// The resource clusterroles.

import { clusterRoles } from '#api/groups/rbac/v1/index.ts';
import type * as rbac from '#api/groups/rbac/v1/index.ts';
import { validateClusterRole } from '#api/groups/rbac/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { roleTable } from '#apiserver/printers/rbac.ts';
import { pathSegmentName } from '#apiserver/registry/metadata-validation.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { GuardedStore, guardRole } from './escalation.ts';

type ClusterRole = Immutable<rbac.ClusterRole>;

export const clusterRoleStrategy: ResourceStrategy<ClusterRole> = {
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  validate: (role) => validateClusterRole(role),
  validateUpdate: (role) => validateClusterRole(role),
};

export function clusterRoleResource(services: RegistryServices): Kind {
  return {
    type: clusterRoles,
    rest: new GuardedStore<ClusterRole>({
      ...services,
      type: clusterRoles,
      strategy: clusterRoleStrategy,
      guard: guardRole(services, clusterRoles),
    }),
    table: roleTable,
  };
}
