// The control of access, as operators configure it: the flags and files of kube-apiserver.

import type { JwtSettings } from '#apiserver/authentication/oidc/settings.ts';
import type { ApiServerConfig } from '#apiserver/config.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { type AdmissionFlags, admissionOf } from './admission.ts';
import { type AuthenticationFlags, authenticationOf } from './authentication.ts';
import { type AuthorizationFlags, authorizationOf } from './authorization.ts';

export interface AccessFlags extends AdmissionFlags, AuthenticationFlags, AuthorizationFlags {}

export interface AccessSettings {
  readonly config: Pick<
    ApiServerConfig,
    | 'admissionSettings'
    | 'anonymous'
    | 'authorizers'
    | 'disableAdmissionPlugins'
    | 'enableAdmissionPlugins'
    | 'jwt'
    | 'podSecurity'
    | 'tokenWebhook'
    | 'webhookKubeconfigs'
  >;
  /** Reads the files again until the signal aborts. `changed`: called after a change. */
  keepLoaded(signal: AbortSignal, changed: () => void): Promise<void>;
  /** Returns metrics of the files, in Prometheus' text format. */
  metrics(): string;
}

export interface AccessContext {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The issuer of the --oidc-… flags. Default: there is none. */
  readonly oidc?: JwtSettings;
  /** The issuers of the server's own tokens. Default: that of the API server. */
  readonly serviceAccountIssuers?: readonly string[];
}

/** Returns the settings that the flags describe. Rejects with UserError. */
export async function accessOf(
  flags: AccessFlags,
  context: AccessContext,
): Promise<AccessSettings> {
  const authorization = await authorizationOf(flags, context);
  const authorizers = authorization?.authorizers() ?? [];
  if (authorizers.some(({ type }) => type === 'AlwaysAllow'))
    context.logger.warn('authorization mode AlwaysAllow: every user may do everything');
  const authentication = await authenticationOf(flags, { ...context, authorizers });
  const admission = await admissionOf(flags, context);
  return {
    config: {
      ...admission,
      ...authentication.config,
      ...(authorization !== undefined && { authorizers: authorization.authorizers }),
    },
    keepLoaded: async (signal, changed) => {
      await Promise.all([
        authorization?.keepLoaded(signal, changed),
        authentication.file?.keepLoaded(signal, changed),
      ]);
    },
    metrics: () => (authorization?.metrics() ?? '') + (authentication.file?.metrics() ?? ''),
  };
}
