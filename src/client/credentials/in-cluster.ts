// The access of a pod to the API server of its cluster: the address from the environment, authority
// and token from files of its ServiceAccount.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import type { KubeconfigContext } from '../kubeconfig.ts';
import { TokenFile } from './token-file.ts';

const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface InClusterOptions {
  readonly clock: Clock;
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The directory of the ServiceAccount's files. Default: the path where kubelets mount them. */
  readonly folder?: string;
}

/** Reports whether this process seems to run in a pod with a ServiceAccount. */
export function isInCluster({
  env = process.env,
  folder = FOLDER,
}: Omit<InClusterOptions, 'clock'> = {}): boolean {
  return (
    Boolean(env['KUBERNETES_SERVICE_HOST'] && env['KUBERNETES_SERVICE_PORT']) &&
    existsSync(join(folder, 'token'))
  );
}

/**
 * Returns the access of this pod. The token is read again when it is rotated. Rejects outside a
 * pod.
 */
export async function inClusterAccess(options: InClusterOptions): Promise<KubeconfigContext> {
  const { clock, env = process.env, folder = FOLDER } = options;
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) {
    throw new Error(
      'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    );
  }
  const credentials = new TokenFile({ path: join(folder, 'token'), clock });
  // Without a token every request would fail. Failing now names the file.
  await credentials.current();
  return {
    contextName: 'in-cluster',
    namespace: (await readIfThere(join(folder, 'namespace')))?.trim() || 'default',
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca: await readIfThere(join(folder, 'ca.crt')),
    credentials,
  };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
