// The server's services for admission plugins. Each plugin declares the services that it needs.

import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { InternalClient } from '../catalog/internal-client.ts';
import type { Client } from '#client/client.ts';
import type { WebhookClients } from '../webhooks/client/index.ts';
import type { AdmissionPluginSettings } from './configuration.ts';
import type { DefaultTolerations } from './default-toleration-seconds.ts';
import type { PodSecurityServices } from './pod-security/index.ts';
import type { WebhookServices } from './webhook/index.ts';

export interface AdmissionServices
  extends
    WebhookServices,
    PodSecurityServices,
    Pick<InternalClient, 'find' | 'findAll' | 'appears' | 'updateStatus'> {
  readonly clock: Clock;
  readonly random: Random;
  /** Checks permissions beyond the request itself, such as the verbs approve and sign. */
  readonly authorizer: Authorizer;
  /** Pods get a volume with a token of their ServiceAccount. */
  readonly mountTokens: boolean;
  readonly defaultTolerationSeconds?: DefaultTolerations;
  /** The settings of plugins by the operator. Default: none. */
  readonly plugins?: AdmissionPluginSettings;
  readonly webhooks: Pick<WebhookClients, 'call' | 'callServer'>;
  /** The client of the server itself. */
  readonly client: Client;
}
