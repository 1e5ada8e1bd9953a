// Resources that no webhook sees: the configuration of admission itself, since a mistake in it
// could not be corrected any more. Unlike policies, webhooks see reviews of tokens and of access.

import type { AdmissionTarget } from '../plugin.ts';

const GROUP = 'admissionregistration.k8s.io';
const RESOURCES: ReadonlySet<string> = new Set([
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'validatingwebhookconfigurations',
]);

export function isExempt({ resource }: AdmissionTarget): boolean {
  return resource.group === GROUP && RESOURCES.has(resource.resource);
}
