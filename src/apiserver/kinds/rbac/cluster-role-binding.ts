// The resource clusterrolebindings.

import { clusterRoleBindings } from '#api/groups/rbac/v1/index.ts';
import type * as rbac from '#api/groups/rbac/v1/index.ts';
import { validateBinding, validateBindingUpdate } from '#api/groups/rbac/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { roleBindingTable } from '#apiserver/printers/rbac.ts';
import { pathSegmentName } from '#apiserver/registry/metadata-validation.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { GuardedStore, guardBinding } from './escalation.ts';

type ClusterRoleBinding = Immutable<rbac.ClusterRoleBinding>;

const validate = (binding: ClusterRoleBinding) => validateBinding(binding, false, (name) => pathSegmentName(name, false));

export const clusterRoleBindingStrategy: ResourceStrategy<ClusterRoleBinding> = {
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  validate,
  validateUpdate: (binding, old) => [...validate(binding), ...validateBindingUpdate(binding, old)],
};

export function clusterRoleBindingResource(services: RegistryServices): Kind {
  return {
    type: clusterRoleBindings,
    rest: new GuardedStore<ClusterRoleBinding>({
      ...services,
      type: clusterRoleBindings,
      strategy: clusterRoleBindingStrategy,
      guard: guardBinding(services, clusterRoleBindings),
    }),
    table: roleBindingTable,
  };
}
