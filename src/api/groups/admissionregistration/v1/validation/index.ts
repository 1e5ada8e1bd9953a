// Validation of webhook configurations and admission policies. Metadata is checked for all kinds alike, elsewhere.

export {
  validateMutatingAdmissionPolicy,
  validateMutatingAdmissionPolicyBinding,
  validateValidatingAdmissionPolicy,
  validateValidatingAdmissionPolicyBinding,
  validateValidatingAdmissionPolicyStatus,
} from './policies.ts';
export { validateWebhookConfiguration, validateWebhookConfigurationUpdate } from './webhooks.ts';
