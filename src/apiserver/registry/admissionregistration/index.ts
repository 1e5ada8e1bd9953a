// The resources of the group admissionregistration.k8s.io.

import type { ServedResource } from '../rest.ts';
import type { RegistryServices } from '../services.ts';
import { mutatingAdmissionPolicyBindingResource } from './mutating-admission-policy-binding/index.ts';
import { mutatingAdmissionPolicyResource } from './mutating-admission-policy/index.ts';
import { mutatingWebhookConfigurationResource } from './mutating-webhook-configuration/index.ts';
import { validatingAdmissionPolicyBindingResource } from './validating-admission-policy-binding/index.ts';
import { validatingAdmissionPolicyResource } from './validating-admission-policy/index.ts';
import { validatingWebhookConfigurationResource } from './validating-webhook-configuration/index.ts';

export function admissionRegistrationResources(services: RegistryServices): readonly ServedResource[] {
  return [
    mutatingAdmissionPolicyBindingResource(services),
    mutatingAdmissionPolicyResource(services),
    mutatingWebhookConfigurationResource(services),
    validatingAdmissionPolicyBindingResource(services),
    validatingAdmissionPolicyResource(services),
    validatingWebhookConfigurationResource(services),
  ];
}
