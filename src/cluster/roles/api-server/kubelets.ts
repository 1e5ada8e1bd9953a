// The connections to kubelets, for logs, exec and proxies.

import { createTlsNodeConnector, type NodeConnector } from '#apiserver/node-connector.ts';
import { keepRenewed, RELOAD_PERIOD_MS } from '../../credentials/certificate-renewal.ts';
import type { KeyPair } from '../../credentials/pki.ts';
import { UserError } from '../../user-error.ts';
import { checkAuthority, checkKeyPair, readFlagFile } from '../../flags/flag-files.ts';
import type { ApiServerRoleConfig } from './config.ts';
import type { CertificateFiles } from './files.ts';

export interface KubeletConnections {
  readonly connector: NodeConnector;
  /** Reads the files of the client certificate again, once per minute, until the signal aborts. */
  keepRenewed(signal: AbortSignal): Promise<void>;
}

/**
 * Returns the connections; undefined without a client certificate for kubelets. `clientCa`: the
 * authority of the server's own clients. Throws UserError.
 */
export function kubeletConnectionsOf(
  config: ApiServerRoleConfig,
  files: CertificateFiles,
  clientCa: string | undefined,
): KubeletConnections | undefined {
  const read = (): KeyPair | undefined =>
    files.pair(
      { cert: 'kubelet-client-certificate', key: 'kubelet-client-key' },
      { cert: config.kubeletClientCertificate, key: config.kubeletClientKey },
      'apiserver-kubelet-client',
    );
  const initial = read();
  const ca =
    config.kubeletCertificateAuthority === undefined
      ? clientCa
      : readFlagFile('--kubelet-certificate-authority', config.kubeletCertificateAuthority);
  if (initial !== undefined)
    checkKeyPair('--kubelet-client-certificate, --kubelet-client-key', initial);
  if (ca !== undefined) checkAuthority('--kubelet-certificate-authority', ca);
  if (initial === undefined) return undefined;
  if (ca === undefined) {
    throw new UserError(
      '--kubelet-client-certificate needs --kubelet-certificate-authority or --client-ca-file',
    );
  }
  const { clock, logger } = config;
  let current = initial;
  return {
    connector: createTlsNodeConnector({ clock, pair: () => current, ca }),
    keepRenewed: (signal) =>
      keepRenewed(
        {
          clock,
          logger,
          name: 'apiserver-kubelet-client',
          current,
          periodMs: RELOAD_PERIOD_MS,
          latest: () => read() ?? current,
          use: (pair) => void (current = pair),
        },
        signal,
      ),
  };
}
