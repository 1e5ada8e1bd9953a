// Assigns ports to the kubelets of `cox up`. Each node has a port of its own, announced in its
// status, since all nodes of the process share the machine's addresses.

import { machineAddresses } from '#kubelet/node/machine.ts';
import type { ServerTlsConfig } from '#kubelet/server/listeners.ts';
import type { NodeAddress } from '#kubelet/types.ts';
import type { KeyPair, Pki } from '../credentials/pki.ts';

/** Sent to other threads as it is. */
export interface KubeletPorts {
  readonly tls: ServerTlsConfig;
  readonly host: string;
  /** Names of nodes in the certificate. */
  readonly names: readonly string[];
  /** See TlsListenersConfig. */
  readonly thisMachineOnly: boolean;
  /** The InternalIP of the nodes, where it is not the machine's first address. */
  readonly nodeAddress?: string;
}

/** The port of upstream's kubelets. The first node gets it, if it is free; the others get any that is. */
export const KUBELET_PORT = 10_250;

/**
 * The number of nodes of a process with a port. A further node has none, as its status says: ports
 * and file descriptors are limited, and the API server reaches its nodes without.
 */
export const MAX_KUBELET_PORTS = 5000;

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address === 'localhost';
}

/**
 * Chooses the address for kubelets beside an API server that listens on `bindAddress`, and makes
 * their certificate. Clients connect to a node's InternalIP. An API server on loopback is for this
 * machine only, and so are the kubelets then: they listen on the InternalIP, but serve only
 * connections that come from this machine. `names`: of nodes, beside addresses in the certificate.
 */
export async function makeKubeletPorts(
  pki: Pki,
  bindAddress: string,
  names: readonly string[],
): Promise<KubeletPorts> {
  const addresses = machineAddresses();
  const thisMachineOnly = isLoopback(bindAddress);
  const host = thisMachineOnly ? (addresses[0] ?? bindAddress) : bindAddress;
  const [nodeAddress] = specificAddress(bindAddress);
  const { cert, key } = await kubeletCertificate(pki, bindAddress, names);
  return {
    tls: { cert, key, clientCA: pki.caCertificate },
    host,
    names,
    thisMachineOnly,
    ...(nodeAddress !== undefined && { nodeAddress }),
  };
}

/**
 * Returns the serving certificate of the kubelets; a new one if the one before has less than 30
 * days left. See makeKubeletPorts.
 */
export function kubeletCertificate(
  pki: Pki,
  bindAddress: string,
  names: readonly string[],
): Promise<KeyPair> {
  const hosts = [
    'localhost',
    '127.0.0.1',
    ...specificAddress(bindAddress),
    ...machineAddresses(),
    ...names,
  ];
  return pki.certificate('kubelet', {
    commonName: 'kubelet',
    usage: 'server',
    hosts: [...new Set(hosts)],
  });
}

function specificAddress(bindAddress: string): readonly string[] {
  return isLoopback(bindAddress) || WILDCARDS.has(bindAddress) ? [] : [bindAddress];
}

/** Returns the addresses of a node that is reached at `nodeAddress`. */
export function nodeAddressesAt(nodeAddress: string, nodeName: string): readonly NodeAddress[] {
  return [
    { type: 'InternalIP', address: nodeAddress },
    { type: 'Hostname', address: nodeName },
  ];
}
