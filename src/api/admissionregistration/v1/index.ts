// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const validatingAdmissionPolicies: ResourceType<types.ValidatingAdmissionPolicy> = resourceType(
  schema,
  'ValidatingAdmissionPolicy',
);
export const validatingAdmissionPolicyBindings: ResourceType<types.ValidatingAdmissionPolicyBinding> = resourceType(
  schema,
  'ValidatingAdmissionPolicyBinding',
);
export const validatingWebhookConfigurations: ResourceType<types.ValidatingWebhookConfiguration> = resourceType(
  schema,
  'ValidatingWebhookConfiguration',
);
export const mutatingWebhookConfigurations: ResourceType<types.MutatingWebhookConfiguration> = resourceType(
  schema,
  'MutatingWebhookConfiguration',
);
export const mutatingAdmissionPolicies: ResourceType<types.MutatingAdmissionPolicy> = resourceType(
  schema,
  'MutatingAdmissionPolicy',
);
export const mutatingAdmissionPolicyBindings: ResourceType<types.MutatingAdmissionPolicyBinding> = resourceType(
  schema,
  'MutatingAdmissionPolicyBinding',
);
