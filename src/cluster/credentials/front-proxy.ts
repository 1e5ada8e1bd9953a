// The identity of the API server towards aggregated API servers: an authority of its own, so that
// no other certificate of the cluster makes its owner a front proxy, and the client certificate
// that it has signed.

import type { RequestHeaderConfig } from '#apiserver/authentication/request-header.ts';
import type { KeyPair, Pki } from './pki.ts';

/** The common name of the client certificate, as kubeadm has it. */
const FRONT_PROXY = 'front-proxy-client';

export interface FrontProxy {
  /** The trusted front proxies, and the headers that they set. */
  readonly requestHeader: RequestHeaderConfig;
  /** Returns the client certificate, or its successor when it is about to expire. */
  certificate(): Promise<KeyPair>;
}

/**
 * Opens the authority of front proxies beside that of the cluster, or makes it. Rejects with
 * UserError for damaged files.
 */
export async function openFrontProxy(cluster: Pki): Promise<FrontProxy> {
  const pki = await cluster.frontProxy();
  return {
    requestHeader: standardRequestHeader(pki.caCertificate),
    certificate: () => pki.certificate(FRONT_PROXY, { commonName: FRONT_PROXY, usage: 'client' }),
  };
}

/** The headers that Kubernetes' own front proxies send. */
export function standardRequestHeader(ca: string): RequestHeaderConfig {
  return {
    ca,
    allowedNames: [FRONT_PROXY],
    usernameHeaders: ['X-Remote-User'],
    uidHeaders: ['X-Remote-Uid'],
    groupHeaders: ['X-Remote-Group'],
    extraHeaderPrefixes: ['X-Remote-Extra-'],
  };
}
