// The resource rolebindings.

import { roleBindings } from '#api/groups/rbac/v1/index.ts';
import type * as rbac from '#api/groups/rbac/v1/index.ts';
import { validateBinding, validateBindingUpdate } from '#api/groups/rbac/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { roleBindingTable } from '#apiserver/printers/rbac.ts';
import { pathSegmentName } from '#apiserver/registry/metadata-validation.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { GuardedStore, guardBinding } from './escalation.ts';

type RoleBinding = Immutable<rbac.RoleBinding>;

const validate = (binding: RoleBinding) => validateBinding(binding, true, (name) => pathSegmentName(name, false));

export const roleBindingStrategy: ResourceStrategy<RoleBinding> = {
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  validate,
  validateUpdate: (binding, old) => [...validate(binding), ...validateBindingUpdate(binding, old)],
};

export function roleBindingResource(services: RegistryServices): Kind {
  return {
    type: roleBindings,
    rest: new GuardedStore<RoleBinding>({
      ...services,
      type: roleBindings,
      strategy: roleBindingStrategy,
      guard: guardBinding(services, roleBindings),
    }),
    table: roleBindingTable,
  };
}
