// The certificate of a kubelet's own server: files that an administrator replaces, one that the
// kubelet requests and rotates, or one that the kubelet signs itself.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '#client/client.ts';
import {
  CertificateMetrics,
  PairStore,
  SERVING_PREFIX,
  servingCertificateManager,
} from '#kubelet/certificates/index.ts';
import type { TlsListeners } from '#kubelet/server/listeners.ts';
import type { NodeAddress } from '#kubelet/types.ts';
import { keepRenewed, RELOAD_PERIOD_MS } from '../../../credentials/certificate-renewal.ts';
import type { KeyPair } from '../../../credentials/pki.ts';
import { UserError } from '../../../user-error.ts';
import { type RoleConfig, type RunningRole, supervised } from '../../role.ts';
import { checkKeyPair, readFlagFile } from '../../../flags/flag-files.ts';
import { asUserError } from './client.ts';
import { writeSelfSigned } from './self-signed.ts';

export interface KubeletServing {
  /** The pair to begin with; undefined: there is none until one is issued. */
  readonly initial: KeyPair | undefined;
  /** Keeps the listeners' certificate current until the result is stopped. */
  readonly start: (listeners: TlsListeners) => Pick<RunningRole, 'failed' | 'stop'>;
  /** Reports whether the certificate may be presented now. */
  readonly isUsable: () => boolean;
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
    // An administrator's file is presented as it is, also when it has expired.
    isUsable: () => true,
    onAddresses: () => undefined,
    metrics: () => '',
  };
}

export interface SelfSignedConfig extends RoleConfig {
  readonly nodeName: string;
  readonly certDir: string;
}

/**
 * The kubelet's own certificate, kubelet.crt and kubelet.key in the directory, for a kubelet that
 * has no other. It is made once, and replaced by removing both files. Rejects with UserError.
 */
export async function selfSignedServing(config: SelfSignedConfig): Promise<KubeletServing> {
  const { nodeName, certDir, clock, random, logger } = config;
  const paths = { cert: join(certDir, 'kubelet.crt'), key: join(certDir, 'kubelet.key') };
  const missing = Object.values(paths).filter((path) => !existsSync(path));
  if (missing.length === 1)
    throw new UserError(
      `error reading ${missing[0]}, certificate and key must be supplied as a pair`,
    );
  if (missing.length === 2) await writeSelfSigned(nodeName, paths, { clock, random });
  logger.warn('kubelet: using a self-signed serving certificate', {
    tlsCertFile: paths.cert,
    tlsPrivateKeyFile: paths.key,
  });
  return servingFiles(config, () => ({
    cert: readFlagFile('--cert-dir', paths.cert),
    key: readFlagFile('--cert-dir', paths.key),
  }));
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
    isUsable: () => manager.current !== undefined,
    onAddresses: (latest) => {
      addresses = latest;
      manager.templateChanged();
    },
    metrics: () => observer.text(manager.current, clock),
  };
}
