// The certificate by which a kubelet authenticates to the API server.

import { KUBE_API_SERVER_CLIENT_KUBELET } from '#api/groups/certificates/v1/signers.ts';
import type { RequestTemplate } from '#api/groups/certificates/v1/make-request.ts';
import type { Credentials, CredentialSource } from '#client/credentials/credential-source.ts';
import { type Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import { CertificateManager, type CertificateManagerConfig } from './certificate-manager.ts';
import { CLIENT_USAGES } from './issue.ts';

/** The beginning of the names of its files. */
export const CLIENT_PREFIX = 'kubelet-client';

export function clientTemplate(nodeName: string): RequestTemplate {
  return {
    commonName: `system:node:${nodeName}`,
    organizations: ['system:nodes'],
    dnsNames: [],
    ipAddresses: [],
  };
}

export type ClientCertificateConfig = Omit<
  CertificateManagerConfig,
  'signerName' | 'usages' | 'template'
> & { readonly nodeName: string };

export function clientCertificateManager({
  nodeName,
  ...config
}: ClientCertificateConfig): CertificateManager {
  const template = clientTemplate(nodeName);
  return new CertificateManager({
    ...config,
    signerName: KUBE_API_SERVER_CLIENT_KUBELET,
    usages: CLIENT_USAGES,
    template: () => template,
  });
}

/**
 * The credentials of a client whose certificate is rotated. Without a valid certificate, requests
 * have none. The transport opens new connections when the certificate changes.
 */
export class RotatedCredentials implements CredentialSource {
  readonly #manager: Pick<CertificateManager, 'current'>;

  constructor(manager: Pick<CertificateManager, 'current'>) {
    this.#manager = manager;
  }

  current(): Promise<Credentials> {
    const pair = this.#manager.current;
    return Promise.resolve(
      pair === undefined ? {} : { clientCertificate: pair.cert, clientKey: pair.key },
    );
  }

  /** Rejected certificates are kept: only their lifetime decides. */
  invalidate(): void {}
}

/** How long a kubelet goes on without a valid certificate, and how often that is checked. */
const EXIT_AFTER_MS = 5 * 60_000;
const CHECK_MS = 10_000;

/**
 * Throws an error when there has been no valid certificate for five minutes although the API server
 * responds: the process should end then, so that its next start can use bootstrap credentials.
 * Resolves when the signal aborts.
 */
export async function requireCertificate(
  manager: Pick<CertificateManager, 'current' | 'serverHealthy'>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  let lastAvailable = clock.now();
  await wait.until({ clock, signal, periodMs: CHECK_MS }, () => {
    const now = clock.now();
    if (manager.current !== undefined) lastAvailable = now;
    if (now <= lastAvailable + EXIT_AFTER_MS) return;
    if (manager.serverHealthy)
      throw new Error('no valid client certificate is found and the server is responsive');
    logger.error(
      'no valid client certificate is found but the server is not responsive; a restart may be ' +
        'necessary to retrieve new initial credentials',
      { lastAvailable: new Date(lastAvailable).toISOString() },
    );
  });
}
