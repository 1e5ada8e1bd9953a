// The resources of the group admissionregistration.k8s.io.

import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { mutatingAdmissionPolicyBindingResource } from './mutating-admission-policy-binding.ts';
import { mutatingAdmissionPolicyResource } from './mutating-admission-policy.ts';
import { mutatingWebhookConfigurationResource } from './mutating-webhook-configuration.ts';
import { validatingAdmissionPolicyBindingResource } from './validating-admission-policy-binding.ts';
import { validatingAdmissionPolicyResource } from './validating-admission-policy.ts';
import { validatingWebhookConfigurationResource } from './validating-webhook-configuration.ts';

export function admissionRegistrationResources(services: RegistryServices): readonly Kind[] {
  return [
    mutatingAdmissionPolicyBindingResource(services),
    mutatingAdmissionPolicyResource(services),
    mutatingWebhookConfigurationResource(services),
    validatingAdmissionPolicyBindingResource(services),
    validatingAdmissionPolicyResource(services),
    validatingWebhookConfigurationResource(services),
  ];
}
