// The resource clusterroles.

import { clusterRoles } from '#api/groups/rbac/v1/index.ts';
import type * as rbac from '#api/groups/rbac/v1/index.ts';
import { validateClusterRole } from '#api/groups/rbac/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { type EscalationConfig, GuardedStore, guardRole } from './escalation.ts';

type ClusterRole = Immutable<rbac.ClusterRole>;

const clusterRoleStrategy: ResourceStrategy<ClusterRole> = {
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  validate: (role) => validateClusterRole(role),
  validateUpdate: (role) => validateClusterRole(role),
};

export const clusterRoleKind = defineKind<ClusterRole, StoreServices & EscalationConfig>({
  type: clusterRoles,
  strategy: clusterRoleStrategy,
  store: (config, services) =>
    new GuardedStore({ ...config, guard: guardRole(services, clusterRoles) }),
});
