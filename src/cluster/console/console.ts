// Mounts the web console in an API server.

import { fileURLToPath } from 'node:url';
import type { ApiServerConfig } from '#apiserver/config.ts';
import type { Mount, MountFactory } from '#apiserver/mount.ts';
import type { ApiResponse } from '#apiserver/request.ts';
import type { Client } from '#client/client.ts';
import {
  type ClusterControls,
  Console,
  type ConsoleConfig,
  grantConsolePermissions,
  type OidcClient,
} from '#console/server/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { schedulingVerdicts } from './scheduling-verdicts.ts';
import { COXSWAIN_VERSION } from '../version.ts';

export type { ClusterControls };

export interface ConsoleMountConfig extends Pick<
  ConsoleConfig,
  'clock' | 'clusterClock' | 'random' | 'features' | 'sessionLimits' | 'oidc' | 'onSignInFailure'
> {
  /** The folder of the built web application. Default: that of this build. */
  readonly folder?: string;
}

/** The settings of a cluster for its console. */
export interface ConsoleSettings {
  /** The time of users, by which sessions expire. */
  readonly clock: Clock;
  /** Cookies and codes: the system's random values, outside of tests. */
  readonly random: Random;
  /** Absent: users do not sign in at an OpenID Connect provider. */
  readonly oidc?: OidcClient;
  /** Absent: the clock of the cluster is not moved by users. */
  readonly controls?: ClusterControls;
}

/** The parts of a cluster's configuration that the console depends on. */
interface OfCluster {
  readonly console?: ConsoleSettings;
  readonly clock?: Clock;
  /** As its YAML reads, or a function that returns it. Absent: the default one. */
  readonly schedulerConfiguration?: unknown;
  /** Returns the scheduler's last decisions. Absent: they are not known. */
  readonly decisions?: () => Promise<readonly unknown[]>;
  /** Logs sign-ins that failed. Absent: they are not logged. */
  readonly logger?: Logger;
}

/** Returns the API server's settings for the console of a cluster. */
export function mountsOf({
  console: settings,
  clock,
  schedulerConfiguration: configuration,
  decisions,
  logger,
}: OfCluster): Pick<ApiServerConfig, 'mounts'> {
  if (settings === undefined) return {};
  const { controls } = settings;
  return consoleMounts({
    clock: settings.clock,
    random: settings.random,
    ...(clock !== undefined && { clusterClock: clock }),
    ...(settings.oidc !== undefined && { oidc: settings.oidc }),
    ...(logger !== undefined && {
      onSignInFailure: (reason) => logger.warn('console: a sign-in has failed', { reason }),
    }),
    features: {
      verdicts: async (client, pods) => {
        if (pods.length === 0) return new Map();
        const present: unknown =
          typeof configuration === 'function' ? await configuration() : configuration;
        return schedulingVerdicts(client, pods, { configuration: present });
      },
      ...(decisions !== undefined && { decisions }),
      ...(controls !== undefined && { controls }),
    },
  });
}

/**
 * Grants the permissions of the console's users, if the cluster has one, and further ones. Without
 * them administrators can still use it.
 */
export async function permitConsole(
  { console: settings, logger }: { readonly console?: ConsoleSettings; readonly logger: Logger },
  client: Client,
  further: readonly ((client: Client) => Promise<void>)[] = [],
): Promise<void> {
  if (settings === undefined) return;
  try {
    await Promise.all([grantConsolePermissions, ...further].map((grant) => grant(client)));
  } catch (error) {
    logger.warn('console: granting the permissions of users failed', { err: error });
  }
}

/** Returns the API server's setting for the console. */
export function consoleMounts(
  config: ConsoleMountConfig,
): Required<Pick<ApiServerConfig, 'mounts'>> {
  const create: MountFactory = (services): Mount => {
    const console = new Console(
      { folder: builtFolder(), ...config, version: COXSWAIN_VERSION },
      services,
    );
    return {
      filter: (next) => (request) => console.handle<ApiResponse>(request, () => next(request)),
      routes: console.routes,
    };
  };
  return { mounts: [create] };
}

/** Returns dist/console, beside the program or below the root of the sources. */
function builtFolder(): string {
  const isSource = import.meta.url.endsWith('/src/cluster/console/console.ts');
  return fileURLToPath(
    new URL(isSource ? '../../../dist/console/' : './console/', import.meta.url),
  );
}
