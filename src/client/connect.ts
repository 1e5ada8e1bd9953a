// Connects to a cluster as command-line tools and operators do: by a kubeconfig, or as a pod.

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { systemClock, type Clock } from '#machinery/clock.ts';
import type { Client } from './client.ts';
import { createClient } from './create-client.ts';
import { inClusterAccess, isInCluster } from './credentials/index.ts';
import { createHttpTransport } from './http/index.ts';
import { NoKubeconfigError, loadKubeconfig, type KubeconfigContext } from './kubeconfig.ts';

export interface ConnectOptions {
  /**
   * Paths of kubeconfig files. Default: those of the environment variable KUBECONFIG; otherwise, in
   * a pod, its ServiceAccount; otherwise ~/.kube/config.
   */
  readonly kubeconfig?: string | readonly string[];
  /** The context of the kubeconfig. Default: its current-context. */
  readonly context?: string;
  /** The name of this program in the server's logs and in field managers. Default: 'coxswain'. */
  readonly userAgent?: string;
  /** Called with each warning that the server adds to a response. */
  readonly onWarning?: (message: string) => void;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

export interface Connection {
  readonly client: Client;
  /** The namespace of the context, or of the pod. */
  readonly namespace: string;
  readonly server: string;
  /** Aborts all requests and closes the connections. */
  close(): void;
}

/**
 * Returns a connection, which is opened by the first request. Rejects with KubeconfigError, or if
 * the files of a ServiceAccount cannot be read.
 */
export async function connect(options: ConnectOptions = {}): Promise<Connection> {
  const { clock = systemClock, userAgent, onWarning } = options;
  const access = await findAccess(options, clock);
  const transport = createHttpTransport({
    ...access,
    clock,
    ...(userAgent !== undefined && { userAgent }),
    ...(onWarning !== undefined && { onWarning }),
  });
  return {
    client: createClient(transport),
    namespace: access.namespace,
    server: access.server,
    close: () => transport.close(),
  };
}

async function findAccess(
  { kubeconfig, context }: ConnectOptions,
  clock: Clock,
): Promise<KubeconfigContext> {
  const selection = { clock, ...(context !== undefined && { context }) };
  if (kubeconfig !== undefined) return loadKubeconfig(kubeconfig, selection);
  const listed = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  if (listed.length > 0) return loadKubeconfig(listed, selection);
  if (isInCluster()) return inClusterAccess({ clock });
  const path = join(homedir(), '.kube', 'config');
  if (existsSync(path)) return loadKubeconfig(path, selection);
  throw new NoKubeconfigError(
    'no cluster is configured: set KUBECONFIG, pass `kubeconfig`, or run in a pod',
  );
}
