// The certificate of a kubelet's own server: files that an administrator replaces, or one that the
// kubelet requests and rotates.

import type { Client } from '#client/client.ts';
import {
  CertificateMetrics,
  PairStore,
  SERVING_PREFIX,
  servingCertificateManager,
} from '#kubelet/certificates/index.ts';
import type { TlsListeners } from '#kubelet/server/listeners.ts';
import type { NodeAddress } from '#kubelet/types.ts';
import { keepRenewed, RELOAD_PERIOD_MS } from '../../certificate-renewal.ts';
import type { KeyPair } from '../../pki.ts';
import { checkKeyPair, type RoleConfig, type RunningRole, supervised } from '../role.ts';
import { asUserError } from './client.ts';

export interface KubeletServing {
  /** The pair to begin with; undefined: there is none until one is issued. */
  readonly initial: KeyPair | undefined;
  /** Keeps the listeners' certificate current until the result is stopped. */
  readonly start: (listeners: TlsListeners) => Pick<RunningRole, 'failed' | 'stop'>;
  /** Receives the node's addresses. */
  readonly onAddresses: (addresses: readonly NodeAddress[]) => void;
  /** Returns metrics of the certificate, in Prometheus' text format. */
  readonly metrics: () => string;
}

/** A certificate in files, which are read again once per minute. Throws UserError. */
export function servingFiles(config: RoleConfig, read: () => KeyPair): KubeletServing {
  const { clock, logger } = config;
  const initial = read();
  checkKeyPair('--tls-cert-file, --tls-private-key-file', initial);
  return {
    initial,
    start: (listeners) =>
      supervised('serving certificate', (signal) => {
        const use = (pair: KeyPair): void => listeners.setServingCertificate(pair);
        const periodMs = RELOAD_PERIOD_MS;
        const renewal = { clock, logger, name: 'kubelet', current: initial, periodMs, use };
        return keepRenewed({ ...renewal, latest: read }, signal);
      }),
    onAddresses: () => undefined,
    metrics: () => '',
  };
}

export interface RequestedServingConfig extends RoleConfig {
  readonly nodeName: string;
  readonly client: Client;
  /** The directory of issued certificates. */
  readonly certDir: string;
  /** A pair to use until one is issued. */
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
}

/** A certificate that is requested for the node's addresses. Throws UserError. */
export function requestedServing(config: RequestedServingConfig): KubeletServing {
  const { clock, random, logger, nodeName, client, certDir } = config;
  const { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile } = config;
  const observer = new CertificateMetrics('server');
  let addresses: readonly NodeAddress[] = [];
  const manager = asUserError('--cert-dir', () =>
    servingCertificateManager({
      nodeName,
      clock,
      random: random.derive('serving-certificate'),
      logger,
      store: new PairStore({
        clock,
        directory: certDir,
        prefix: SERVING_PREFIX,
        ...(certFile !== undefined && { certFile }),
        ...(keyFile !== undefined && { keyFile }),
      }),
      addresses: () => addresses,
      // The kubelet's client stays open.
      openClient: () => ({ client, close: () => undefined }),
      observer,
    }),
  );
  return {
    initial: manager.current,
    start: (listeners) => {
      manager.onChange((pair) => listeners.setServingCertificate(pair));
      return supervised('serving certificate', (signal) => manager.run(signal));
    },
    onAddresses: (latest) => {
      addresses = latest;
      manager.templateChanged();
    },
    metrics: () => observer.text(manager.current, clock),
  };
}
