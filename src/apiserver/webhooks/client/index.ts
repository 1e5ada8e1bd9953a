// The client of webhooks.

export { CertificateMetrics } from './certificate-metrics.ts';
export type { WebhookClientConfig, WebhookServiceReference } from './config.ts';
export { WebhookCallError } from './errors.ts';
export { LocalWebhooks } from './local-webhooks.ts';
export type { LocalWebhook, LocalWebhookHandler } from './local-webhooks.ts';
export { WebhookClients } from './webhook-clients.ts';
export type { CallOptions, WebhookClientsConfig } from './webhook-clients.ts';
