// The admission plugins that call webhooks.

export { webhookAccess, type WebhookKubeconfigs } from './access.ts';
export { WebhookMetrics } from './metrics.ts';
export { MutatingAdmissionWebhook } from './mutating.ts';
export type { WebhookServices } from './services.ts';
export { ValidatingAdmissionWebhook } from './validating.ts';
