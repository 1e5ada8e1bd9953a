// What no policy may look at: policies themselves, since a mistake in one could not be put right any more, and questions about who
// somebody is and what they may do, without which nothing in a cluster works.

import * as apierrors from '#machinery/apierrors.ts';
import type { AdmissionAttributes, AdmissionTarget } from '../plugin.ts';

const EXEMPT: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io/validatingadmissionpolicies',
  'admissionregistration.k8s.io/validatingadmissionpolicybindings',
  'admissionregistration.k8s.io/mutatingadmissionpolicies',
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings',
  'authentication.k8s.io/selfsubjectreviews',
  'authentication.k8s.io/tokenreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authorization.k8s.io/subjectaccessreviews',
]);

/** The two groups that have such resources are told apart from all others by how they begin. */
export function isExempt({ resource }: AdmissionTarget): boolean {
  return resource.group.startsWith('a') && EXEMPT.has(`${resource.group}/${resource.resource}`);
}

/** 403 with Kubernetes' words for what has no name yet. */
export function refusal(
  { resource, name, object }: AdmissionAttributes,
  why: string,
): apierrors.StatusError {
  const { name: own = '', generateName = '' } = object?.metadata ?? {};
  return apierrors.forbidden(resource, name || own || generateName || 'Unknown', why);
}
