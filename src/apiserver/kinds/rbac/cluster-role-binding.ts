// The resource clusterrolebindings.

import { clusterRoleBindings } from '#api/groups/rbac/v1/index.ts';
import type * as rbac from '#api/groups/rbac/v1/index.ts';
import { validateBinding, validateBindingUpdate } from '#api/groups/rbac/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { type EscalationConfig, guardBinding, GuardedStore } from './escalation.ts';
import { roleBindingTable } from './tables.ts';

type ClusterRoleBinding = Immutable<rbac.ClusterRoleBinding>;

const validate = (binding: ClusterRoleBinding) =>
  validateBinding(binding, false, (name) => pathSegmentName(name, false));

const clusterRoleBindingStrategy: ResourceStrategy<ClusterRoleBinding> = {
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  validate,
  validateUpdate: (binding, old) => [...validate(binding), ...validateBindingUpdate(binding, old)],
};

export const clusterRoleBindingKind = defineKind<
  ClusterRoleBinding,
  StoreServices & EscalationConfig
>({
  type: clusterRoleBindings,
  strategy: clusterRoleBindingStrategy,
  store: (config, services) =>
    new GuardedStore({ ...config, guard: guardBinding(services, clusterRoleBindings) }),
  table: roleBindingTable,
});
