// The resource roles.

import { roles } from '#api/groups/rbac/v1/index.ts';
import type * as rbac from '#api/groups/rbac/v1/index.ts';
import { validateRole } from '#api/groups/rbac/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { roleTable } from '#apiserver/printers/rbac.ts';
import { pathSegmentName } from '#apiserver/registry/metadata-validation.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { GuardedStore, guardRole } from './escalation.ts';

type Role = Immutable<rbac.Role>;

export const roleStrategy: ResourceStrategy<Role> = {
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  validate: (role) => validateRole(role),
  validateUpdate: (role) => validateRole(role),
};

export function roleResource(services: RegistryServices): Kind {
  return {
    type: roles,
    rest: new GuardedStore<Role>({
      ...services,
      type: roles,
      strategy: roleStrategy,
      guard: guardRole(services, roles),
    }),
    table: roleTable,
  };
}
