// The connections to kubelets, for logs, exec and proxies.

import { createTlsNodeConnector, type NodeConnector } from '#apiserver/node-connector.ts';
import { UserError } from '../../user-error.ts';
import { checkAuthority, checkKeyPair, readFlagFile } from '../../flag-files.ts';
import type { ApiServerRoleConfig } from './config.ts';
import type { CertificateFiles } from './files.ts';

/**
 * Returns the connector; undefined without a client certificate for kubelets. `clientCa`: the
 * authority of the server's own clients. Throws UserError.
 */
export function kubeletConnectorOf(
  config: ApiServerRoleConfig,
  files: CertificateFiles,
  clientCa: string | undefined,
): NodeConnector | undefined {
  const pair = files.pair(
    { cert: 'kubelet-client-certificate', key: 'kubelet-client-key' },
    { cert: config.kubeletClientCertificate, key: config.kubeletClientKey },
    'apiserver-kubelet-client',
  );
  const ca =
    config.kubeletCertificateAuthority === undefined
      ? clientCa
      : readFlagFile('--kubelet-certificate-authority', config.kubeletCertificateAuthority);
  if (pair !== undefined) checkKeyPair('--kubelet-client-certificate, --kubelet-client-key', pair);
  if (ca !== undefined) checkAuthority('--kubelet-certificate-authority', ca);
  if (pair === undefined) return undefined;
  if (ca === undefined) {
    throw new UserError(
      '--kubelet-client-certificate needs --kubelet-certificate-authority or --client-ca-file',
    );
  }
  return createTlsNodeConnector({ clock: config.clock, ...pair, ca });
}
