// The resource roles.

import { roles } from '#api/groups/rbac/v1/index.ts';
import type * as rbac from '#api/groups/rbac/v1/index.ts';
import { validateRole } from '#api/groups/rbac/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { type EscalationConfig, GuardedStore, guardRole } from './escalation.ts';

type Role = Immutable<rbac.Role>;

const roleStrategy: ResourceStrategy<Role> = {
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  validate: (role) => validateRole(role),
  validateUpdate: (role) => validateRole(role),
};

export const roleKind = defineKind<Role, StoreServices & EscalationConfig>({
  type: roles,
  strategy: roleStrategy,
  store: (config, services) => new GuardedStore({ ...config, guard: guardRole(services, roles) }),
});
