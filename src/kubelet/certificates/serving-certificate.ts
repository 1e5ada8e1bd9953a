// The certificate of a kubelet's own server. Its requests are not approved automatically: an
// administrator or a controller of the cluster's provider confirms that the addresses are the
// node's.

import { isIP } from 'node:net';
import { KUBELET_SERVING } from '#api/groups/certificates/v1/signers.ts';
import type { RequestTemplate } from '#api/groups/certificates/v1/make-request.ts';
import type { NodeAddress } from '../types.ts';
import { CertificateManager, type CertificateManagerConfig } from './certificate-manager.ts';
import { SERVING_USAGES } from './issue.ts';

/** The beginning of the names of its files. */
export const SERVING_PREFIX = 'kubelet-server';

/** Returns the template for a node's addresses; undefined until one of them is an IP address. */
export function servingTemplate(
  nodeName: string,
  addresses: readonly NodeAddress[],
): RequestTemplate | undefined {
  const names = new Set<string>();
  const ips = new Set<string>();
  for (const { type, address } of addresses) {
    if (address === '') continue;
    const isAddress = isIP(address) !== 0;
    if (type === 'InternalDNS' || type === 'ExternalDNS') names.add(address);
    else if (isAddress) ips.add(address);
    else if (type === 'Hostname') names.add(address);
  }
  if (ips.size === 0) return undefined;
  return {
    commonName: `system:node:${nodeName}`,
    organizations: ['system:nodes'],
    dnsNames: [...names].sort(),
    ipAddresses: [...ips].sort(),
  };
}

export type ServingCertificateConfig = Omit<
  CertificateManagerConfig,
  'signerName' | 'usages' | 'template'
> & {
  readonly nodeName: string;
  /** Returns the node's addresses, as of the last check of its status. */
  readonly addresses: () => readonly NodeAddress[];
};

export function servingCertificateManager({
  nodeName,
  addresses,
  ...config
}: ServingCertificateConfig): CertificateManager {
  return new CertificateManager({
    ...config,
    signerName: KUBELET_SERVING,
    usages: SERVING_USAGES,
    template: () => servingTemplate(nodeName, addresses()),
  });
}
