// Defaults of the rbac group, as Kubernetes documents them. A defaulter may modify its object,
// which was just decoded.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { ClusterRoleBinding, RoleBinding, Subject } from './types.ts';

export const GROUP = 'rbac.authorization.k8s.io';

/** Sets the defaults of both kinds of bindings. */
function setRoleBindingDefaults(binding: RoleBinding | ClusterRoleBinding): void {
  binding.roleRef.apiGroup ||= GROUP;
  for (const subject of binding.subjects ?? []) setSubjectDefaults(subject);
}

function setSubjectDefaults(subject: Subject): void {
  if (subject.apiGroup) return;
  if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup = GROUP;
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  ClusterRoleBinding: setRoleBindingDefaults,
  RoleBinding: setRoleBindingDefaults,
};
