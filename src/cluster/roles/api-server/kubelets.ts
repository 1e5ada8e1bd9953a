// The connections to kubelets, for logs, exec and proxies.

import { createTlsNodeConnector, type NodeConnector } from '#apiserver/node-connector.ts';
import { keepRenewed, RELOAD_PERIOD_MS } from '../../credentials/certificate-renewal.ts';
import type { KeyPair } from '../../credentials/pki.ts';
import { checkAuthority, checkKeyPair } from '../../flags/flag-files.ts';
import type { ApiServerRoleConfig } from './config.ts';
import type { CertificateFiles } from './files.ts';

export interface KubeletConnections {
  readonly connector: NodeConnector;
  /** Whether the server has a client certificate for kubelets. Without, it is anonymous there. */
  readonly hasCertificate: boolean;
  /** Reads the files of the client certificate again every RELOAD_PERIOD_MS until the signal aborts. */
  keepRenewed(signal: AbortSignal): Promise<void>;
}

/**
 * Returns the connections. As upstream, each flag is optional: without a client certificate the
 * kubelet decides what an anonymous client may do, and without an authority its certificate is not
 * verified. Throws UserError.
 */
export function kubeletConnectionsOf(
  config: ApiServerRoleConfig,
  files: CertificateFiles,
): KubeletConnections {
  const { clock, logger } = config;
  const read = (): KeyPair | undefined =>
    files.pair(
      { cert: 'kubelet-client-certificate', key: 'kubelet-client-key' },
      { cert: config.kubeletClientCertificate, key: config.kubeletClientKey },
      'apiserver-kubelet-client',
    );
  let current = read();
  if (current !== undefined)
    checkKeyPair('--kubelet-client-certificate, --kubelet-client-key', current);
  const ca = files.optional(
    'kubelet-certificate-authority',
    config.kubeletCertificateAuthority,
    'ca.crt',
  );
  if (ca === undefined)
    logger.warn(
      'kubelet certificates are not verified: --kubelet-certificate-authority is not given',
    );
  else checkAuthority('--kubelet-certificate-authority', ca);
  return {
    connector: createTlsNodeConnector({ clock, pair: () => current, ca }),
    hasCertificate: current !== undefined,
    keepRenewed: async (signal) => {
      if (current === undefined) return;
      const initial = current;
      await keepRenewed(
        {
          clock,
          logger,
          name: 'apiserver-kubelet-client',
          current: initial,
          periodMs: RELOAD_PERIOD_MS,
          latest: () => read() ?? current ?? initial,
          use: (pair) => void (current = pair),
        },
        signal,
      );
    },
  };
}
