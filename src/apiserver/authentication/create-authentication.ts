// Creates the authenticators of a server from its config.

import type { Client } from '#client/client.ts';
import type { ApiServerConfig, ServiceAccountKeyConfig } from '../config.ts';
import type { InternalClient } from '../catalog/internal-client.ts';
import type { Authenticator, TokenAuthenticator } from './authenticator.ts';
import { BootstrapTokens } from './bootstrap-tokens.ts';
import { ExternalSigner } from './external-signer/external-signer.ts';
import { ClientCertificateAuthenticator } from './client-certificate.ts';
import { LegacyServiceAccountTokens } from './legacy-service-account-tokens.ts';
import { noteTokenUse } from './legacy-token-tracking.ts';
import { JwtAuthenticators } from './oidc/oidc-authenticator.ts';
import { RequestHeaderAuthenticator } from './request-header.ts';
import { RequestTokens } from './request-tokens.ts';
import { DEFAULT_ISSUER, ServiceAccountTokens } from './service-account-tokens.ts';
import { StaticTokenAuthenticator } from './static-tokens.ts';
import { LocalKeyring } from './token-keyring.ts';
import { WebhookTokens } from './webhook/webhook-tokens.ts';
import type { WebhookClients } from '../webhooks/client/index.ts';
import { kubeconfigAccess } from '../webhooks/review/index.ts';

export interface Authentication {
  /** The authenticators of requests, in order. */
  readonly authenticators: readonly Authenticator[];
  /** The authenticators of TokenReviews. */
  readonly tokenAuthenticators: readonly TokenAuthenticator[];
  /** The audiences of the API server itself. */
  readonly audiences: readonly string[];
  /** Signs tokens of ServiceAccounts. Undefined: the server has no key for them. */
  readonly serviceAccountTokens: ServiceAccountTokens | undefined;
  /** Has the keys of those tokens. Undefined: the server has them. */
  readonly externalSigner: ExternalSigner | undefined;
}

export interface AuthenticationServices {
  readonly objects: Pick<InternalClient, 'find'>;
  /** The client that records the use of legacy tokens. */
  readonly loopback: Client;
  readonly webhooks: Pick<WebhookClients, 'callServer'>;
}

/** Creates the authenticators. Throws TypeError for invalid keys of ServiceAccounts. */
export function createAuthentication(
  config: ApiServerConfig,
  services: AuthenticationServices,
): Authentication {
  const { clock, random, logger, serviceAccounts } = config;
  const { find } = services.objects;
  const keyring = serviceAccounts === undefined ? undefined : keyringOf(serviceAccounts, config);
  const serviceAccountTokens =
    keyring === undefined
      ? undefined
      : new ServiceAccountTokens({ clock, random, find, ...serviceAccounts, keyring });
  const legacyTokens =
    serviceAccountTokens === undefined
      ? undefined
      : new LegacyServiceAccountTokens({
          clock,
          find,
          verifier: serviceAccountTokens.verifier,
          audiences: serviceAccountTokens.audiences,
          noteUse: (secret, day) => noteTokenUse(services.loopback, logger, secret, day),
        });
  const audiences = serviceAccountTokens?.audiences ?? [DEFAULT_ISSUER];
  const staticTokens = new StaticTokenAuthenticator(config.tokens ?? new Map(), audiences);
  const jwt =
    config.jwt === undefined
      ? undefined
      : new JwtAuthenticators(config.jwt, { clock, logger, audiences });
  const { tokenWebhook } = config;
  const webhookTokens =
    tokenWebhook === undefined
      ? undefined
      : new WebhookTokens(tokenWebhook, {
          clock,
          random,
          logger,
          audiences,
          clients: services.webhooks,
          access: kubeconfigAccess(tokenWebhook.kubeConfigFile, clock),
        });
  const bootstrapTokens =
    config.bootstrapTokens === true ? new BootstrapTokens({ clock, find, audiences }) : undefined;
  const tokenAuthenticators = [
    staticTokens,
    serviceAccountTokens,
    legacyTokens,
    bootstrapTokens,
    jwt,
    webhookTokens,
  ].filter((each) => each !== undefined);
  // The headers of a front proxy come before the user of its own certificate, as upstream.
  const frontProxies =
    config.requestHeader === undefined
      ? []
      : [new RequestHeaderAuthenticator(config.requestHeader)];
  return {
    authenticators: [
      ...frontProxies,
      new ClientCertificateAuthenticator(),
      new RequestTokens(tokenAuthenticators),
      ...(config.authenticators ?? []),
    ],
    tokenAuthenticators,
    audiences,
    serviceAccountTokens,
    externalSigner: keyring instanceof ExternalSigner ? keyring : undefined,
  };
}

function keyringOf(
  keys: ServiceAccountKeyConfig,
  { clock, logger }: ApiServerConfig,
): LocalKeyring | ExternalSigner {
  return 'signingEndpoint' in keys
    ? new ExternalSigner({ endpoint: keys.signingEndpoint, clock, logger })
    : new LocalKeyring(keys.signingKey, keys.publicKeys);
}
