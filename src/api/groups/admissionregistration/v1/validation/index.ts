// Validation of webhook configurations and admission policies. Metadata is validated elsewhere,
// with the same rules for all kinds.

export {
  validateMutatingAdmissionPolicy,
  validateMutatingAdmissionPolicyBinding,
  validateValidatingAdmissionPolicy,
  validateValidatingAdmissionPolicyBinding,
  validateValidatingAdmissionPolicyStatus,
} from './policies.ts';
export { validateWebhookConfiguration, validateWebhookConfigurationUpdate } from './webhooks.ts';
