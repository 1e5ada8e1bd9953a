// The server's services that both webhook plugins need.

import type { Random } from '#machinery/random.ts';
import type { WebhookClients } from '#apiserver/webhooks/client/index.ts';
import type { PolicyServices } from '../policy/services.ts';
import type { WebhookAccess } from './access.ts';
import type { WebhookMetrics } from './metrics.ts';

export interface WebhookServices extends PolicyServices {
  readonly webhooks: Pick<WebhookClients, 'call'>;
  readonly webhookMetrics: WebhookMetrics;
  /** Returns the credentials for a webhook. Rejects with WebhookCallError. Default: there are none. */
  readonly webhookAccess?: WebhookAccess;
  /** The source of the UIDs of reviews. */
  readonly random: Random;
}
