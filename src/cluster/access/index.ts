// The control of access, as operators configure it: the flags and files of kube-apiserver.

import type { ApiServerConfig } from '#apiserver/config.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { type AuthorizationFlags, authorizationOf } from './authorization.ts';

export { anonymousRequests } from './authorization.ts';

export type AccessFlags = AuthorizationFlags;

export interface AccessSettings {
  readonly config: Pick<ApiServerConfig, 'authorizers'>;
  /** Reads the files again until the signal aborts. `changed`: called after a change. */
  keepLoaded(signal: AbortSignal, changed: () => void): Promise<void>;
  /** Returns metrics of the files, in Prometheus' text format. */
  metrics(): string;
}

export interface AccessServices {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Returns the settings that the flags describe. Rejects with UserError. */
export async function accessOf(
  flags: AccessFlags,
  services: AccessServices,
): Promise<AccessSettings> {
  const authorization = await authorizationOf(flags, services);
  const authorizers = authorization?.authorizers() ?? [];
  if (authorizers.some(({ type }) => type === 'AlwaysAllow'))
    services.logger.warn('authorization mode AlwaysAllow: every user may do everything');
  return {
    config: { ...(authorization !== undefined && { authorizers: authorization.authorizers }) },
    keepLoaded: async (signal, changed) => authorization?.keepLoaded(signal, changed),
    metrics: () => authorization?.metrics() ?? '',
  };
}
