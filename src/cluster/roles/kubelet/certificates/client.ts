// The client of `cox kubelet`: with the credentials of its kubeconfig, or with a certificate that it
// requests and rotates.

import type { Client } from '#client/client.ts';
import type { ServerAccess } from '#client/http/index.ts';
import {
  CertificateMetrics,
  CLIENT_PREFIX,
  clientCertificateManager,
  type OpenClient,
  PairStore,
  requireCertificate,
  RotatedCredentials,
} from '#kubelet/certificates/index.ts';
import { UserError } from '../../../user-error.ts';
import { clientFor, type RoleConfig, type RunningRole, supervised } from '../../role.ts';
import { readKubeconfig } from '../../../flags/flag-files.ts';
import { type BootstrapConfig, bootstrapOnce, chooseKubeconfig } from './bootstrap.ts';
import { serverOf } from './server-of.ts';

const COMPONENT = 'kubelet';

export interface KubeletClientConfig extends RoleConfig {
  readonly nodeName: string;
  readonly kubeconfig: string;
  /** A kubeconfig to request the first certificate with. */
  readonly bootstrapKubeconfig?: string;
  /** Default: false. */
  readonly rotateCertificates?: boolean;
  /** The directory of issued certificates. */
  readonly certDir: string;
  /** Aborts bootstrapping. */
  readonly signal: AbortSignal;
}

export interface KubeletClient {
  readonly client: Client;
  /** Rotates the certificate until it is stopped. Absent: nothing rotates. */
  readonly rotation?: Pick<RunningRole, 'failed' | 'stop'>;
  /** Returns metrics of the certificate, in Prometheus' text format. */
  readonly metrics: () => string;
}

/**
 * Returns the client. Without rotation, waits until a certificate is issued if one is needed.
 * Rejects with UserError.
 */
export async function kubeletClient(config: KubeletClientConfig): Promise<KubeletClient> {
  const { kubeconfig, bootstrapKubeconfig } = config;
  const bootstrap =
    bootstrapKubeconfig === undefined ? undefined : { ...config, bootstrapKubeconfig };
  if (config.rotateCertificates === true) return rotatingClient(config, bootstrap);
  if (bootstrap !== undefined) await bootstrapOnce(bootstrap);
  const access = await readKubeconfig('--kubeconfig', kubeconfig);
  return { client: clientFor(access, COMPONENT, config), metrics: () => '' };
}

async function rotatingClient(
  config: KubeletClientConfig,
  bootstrap: BootstrapConfig | undefined,
): Promise<KubeletClient> {
  const { certDir, nodeName, clock, random, logger } = config;
  const { forRequests, forUse, certFile, keyFile } = await chooseKubeconfig(config, bootstrap);
  const server = serverOf(forUse);
  const openClient = (current: { readonly cert: string; readonly key: string } | undefined) =>
    opened(
      current === undefined
        ? forRequests
        : { ...server, clientCertificate: current.cert, clientKey: current.key },
      config,
    );
  const observer = new CertificateMetrics('client');
  const { clientCertificate: cert, clientKey: key } = forUse;
  const isInline = certFile === undefined && cert !== undefined && key !== undefined;
  const manager = asUserError('--cert-dir', () =>
    clientCertificateManager({
      nodeName,
      clock,
      random: random.derive('client-certificate'),
      logger,
      store: new PairStore({
        clock,
        directory: certDir,
        prefix: CLIENT_PREFIX,
        ...(certFile !== undefined && { certFile }),
        ...(keyFile !== undefined && { keyFile }),
      }),
      ...(isInline && { bootstrap: { cert, key } }),
      openClient,
      observer,
    }),
  );
  const credentials = new RotatedCredentials(manager);
  return {
    client: clientFor({ ...server, credentials }, COMPONENT, config),
    rotation: supervised('client certificate', async (signal) => {
      await Promise.all([manager.run(signal), requireCertificate(manager, config, signal)]);
    }),
    metrics: () => observer.text(manager.current, clock),
  };
}

function opened(access: ServerAccess, config: RoleConfig): OpenClient {
  const client = clientFor(access, COMPONENT, config);
  return { client, close: () => client.transport.close() };
}

/** Calls the function, and names the flag in its errors. */
export function asUserError<T>(flag: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw new UserError(`${flag}: ${(error as Error).message}`, { cause: error });
  }
}
