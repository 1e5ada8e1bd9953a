// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const validatingAdmissionPolicies: ResourceType<types.ValidatingAdmissionPolicy> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicies',
  singular: 'validatingadmissionpolicy',
  kind: 'ValidatingAdmissionPolicy',
  namespaced: false,
  shortNames: [],
  categories: ['api-extensions'],
  subresources: ['status'],
};

export const validatingAdmissionPolicyBindings: ResourceType<types.ValidatingAdmissionPolicyBinding> =
  {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    resource: 'validatingadmissionpolicybindings',
    singular: 'validatingadmissionpolicybinding',
    kind: 'ValidatingAdmissionPolicyBinding',
    namespaced: false,
    shortNames: [],
    categories: ['api-extensions'],
    subresources: [],
  };

export const validatingWebhookConfigurations: ResourceType<types.ValidatingWebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  singular: 'validatingwebhookconfiguration',
  kind: 'ValidatingWebhookConfiguration',
  namespaced: false,
  shortNames: [],
  categories: ['api-extensions'],
  subresources: [],
};

export const mutatingWebhookConfigurations: ResourceType<types.MutatingWebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'mutatingwebhookconfigurations',
  singular: 'mutatingwebhookconfiguration',
  kind: 'MutatingWebhookConfiguration',
  namespaced: false,
  shortNames: [],
  categories: ['api-extensions'],
  subresources: [],
};

export const mutatingAdmissionPolicies: ResourceType<types.MutatingAdmissionPolicy> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'mutatingadmissionpolicies',
  singular: 'mutatingadmissionpolicy',
  kind: 'MutatingAdmissionPolicy',
  namespaced: false,
  shortNames: [],
  categories: ['api-extensions'],
  subresources: [],
};

export const mutatingAdmissionPolicyBindings: ResourceType<types.MutatingAdmissionPolicyBinding> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'mutatingadmissionpolicybindings',
  singular: 'mutatingadmissionpolicybinding',
  kind: 'MutatingAdmissionPolicyBinding',
  namespaced: false,
  shortNames: [],
  categories: ['api-extensions'],
  subresources: [],
};
