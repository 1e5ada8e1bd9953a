// The administrator's kubeconfig of a cluster, which is renewed with its certificate.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { keepRenewed, RENEWAL_PERIOD_MS } from './certificate-renewal.ts';
import { ADMIN_USER } from './admin-user.ts';
import { type KubeconfigEntry, writeKubeconfig } from './kubeconfig.ts';
import type { Pki } from './pki.ts';

const CONTEXT_NAME = 'coxswain';

const REQUEST = {
  commonName: ADMIN_USER.name,
  organizations: ADMIN_USER.groups,
  usage: 'client',
} as const;

export interface AdminKubeconfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pki: Pki;
  /** The URL of the API server. */
  readonly server: string;
  readonly path: string;
}

/**
 * Writes the kubeconfig, returns its entry, and writes it again whenever the certificate is renewed,
 * until the signal aborts.
 */
export async function keepAdminKubeconfig(
  { clock, logger, pki, server, path }: AdminKubeconfig,
  signal: AbortSignal,
): Promise<KubeconfigEntry> {
  const admin = await pki.certificate('admin', REQUEST);
  const entry: KubeconfigEntry = {
    name: CONTEXT_NAME,
    server,
    caCertificate: pki.caCertificate,
    clientCertificate: admin.cert,
    clientKey: admin.key,
  };
  writeKubeconfig(path, entry);
  void keepRenewed(
    {
      clock,
      logger,
      name: 'admin',
      current: admin,
      periodMs: RENEWAL_PERIOD_MS,
      latest: () => pki.certificate('admin', REQUEST),
      use: ({ cert, key }) =>
        writeKubeconfig(path, { ...entry, clientCertificate: cert, clientKey: key }),
    },
    signal,
  );
  return entry;
}
