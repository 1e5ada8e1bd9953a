// Webhooks that a kubeconfig names and that answer reviews: of access, of tokens, of images.

export { kubeconfigAccess } from './kubeconfig-access.ts';
export { ReviewWebhook } from './review-webhook.ts';
export type { ReviewAttempt, ReviewOptions, ReviewWebhookConfig } from './review-webhook.ts';
export { TtlCache } from './ttl-cache.ts';
