// Defaults of the rbac group, as Kubernetes documents them. A defaulter may change the object it is given: it is a fresh draft,
// straight from the decoder.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { ClusterRoleBinding, RoleBinding, Subject } from './types.ts';

export const GROUP = 'rbac.authorization.k8s.io';

/** Of both kinds of bindings. */
function setRoleBindingDefaults(binding: RoleBinding | ClusterRoleBinding): void {
  binding.roleRef.apiGroup ||= GROUP;
  for (const subject of binding.subjects ?? []) setSubjectDefaults(subject);
}

function setSubjectDefaults(subject: Subject): void {
  if (subject.apiGroup) return;
  if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup = GROUP;
}

/** The defaulters of this group and version, by kind. Kinds without defaults have none. */
export const defaulters: Defaulters = {
  ClusterRoleBinding: setRoleBindingDefaults,
  RoleBinding: setRoleBindingDefaults,
};
