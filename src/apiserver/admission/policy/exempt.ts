// Resources that no policy applies to. These are the policies themselves, since a mistake in one
// could not be corrected any more, and reviews of tokens and access, which the cluster depends on.

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

/**
 * Reports whether the resource is exempt. The first letter of the group excludes most resources
 * quickly.
 */
export function isExempt({ resource }: AdmissionTarget): boolean {
  return resource.group.startsWith('a') && EXEMPT.has(`${resource.group}/${resource.resource}`);
}

/** Returns the error 403 with Kubernetes' message, also for objects without a name yet. */
export function refusal(
  { resource, name, object }: AdmissionAttributes,
  why: string,
): apierrors.StatusError {
  const { name: own = '', generateName = '' } = object?.metadata ?? {};
  return apierrors.forbidden(resource, name || own || generateName || 'Unknown', why);
}
