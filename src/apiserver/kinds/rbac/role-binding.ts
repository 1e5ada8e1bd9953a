// The resource rolebindings.

import { roleBindings } from '#api/groups/rbac/v1/index.ts';
import type * as rbac from '#api/groups/rbac/v1/index.ts';
import { validateBinding, validateBindingUpdate } from '#api/groups/rbac/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { type EscalationConfig, guardBinding, GuardedStore } from './escalation.ts';
import { roleBindingTable } from './tables.ts';

type RoleBinding = Immutable<rbac.RoleBinding>;

const validate = (binding: RoleBinding) =>
  validateBinding(binding, true, (name) => pathSegmentName(name, false));

const roleBindingStrategy: ResourceStrategy<RoleBinding> = {
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  validate,
  validateUpdate: (binding, old) => [...validate(binding), ...validateBindingUpdate(binding, old)],
};

export const roleBindingKind = defineKind<RoleBinding, StoreServices & EscalationConfig>({
  type: roleBindings,
  strategy: roleBindingStrategy,
  store: (config, services) =>
    new GuardedStore({ ...config, guard: guardBinding(services, roleBindings) }),
  table: roleBindingTable,
});
