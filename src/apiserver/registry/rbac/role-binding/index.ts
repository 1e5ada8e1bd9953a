// The resource rolebindings.

import { roleBindings } from '../../../../api/rbac/v1/index.ts';
import type * as rbac from '../../../../api/rbac/v1/index.ts';
import { validateBinding, validateBindingUpdate } from '../../../../api/rbac/v1/validation.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { roleBindingTable } from '../../../printers/rbac.ts';
import { pathSegmentName } from '../../metadata-validation.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';
import { GuardedStore, guardBinding } from '../escalation.ts';

type RoleBinding = Immutable<rbac.RoleBinding>;

const validate = (binding: RoleBinding) => validateBinding(binding, true, (name) => pathSegmentName(name, false));

export const roleBindingStrategy: ResourceStrategy<RoleBinding> = {
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  validate,
  validateUpdate: (binding, old) => [...validate(binding), ...validateBindingUpdate(binding, old)],
};

export function roleBindingResource(services: RegistryServices): ServedResource {
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
