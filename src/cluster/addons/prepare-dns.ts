// Decides whether and where `cox up` runs the cluster's DNS.
//
// Pods need an address that works in resolv.conf, where a port cannot be named. The cluster IP of
// the Service is one: this machine gets it on an interface of its own, so that pods of this machine
// reach it by routing alone, with or without a service proxy. The node's address is what the
// EndpointSlice names, for a proxy and for other machines.

import { isIPv4 } from 'node:net';
import { nodeSockets, parseClusterDomain, PRIVATE_RANGES } from '#dns/index.ts';
import { machineAddresses } from '#kubelet/node/machine.ts';
import {
  addServiceAddress,
  otherInterfaceWith,
  removeServiceAddress,
  serviceInterfaceName,
} from '#network/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { DnsSettings } from './dns.ts';
import { isRoot } from '../machine/install.ts';
import { dnsServiceAddress, parseServiceRanges } from '../flags/network-ranges.ts';
import { UserError } from '../user-error.ts';

export interface DnsRequest {
  /** undefined: where pods have a network of their own, and nothing is in the way. */
  readonly wanted: boolean | undefined;
  readonly clusterDomain: string;
  readonly serviceCidr: string;
  readonly podCidrs: readonly string[];
  /** Pods have a network of their own, on this machine. */
  readonly podNetwork: boolean;
  readonly nodeName: string;
  /**
   * Other machines can join the cluster: clients with private addresses are answered. Otherwise
   * only this machine and its pods are.
   */
  readonly hasOtherMachines: boolean;
  /** Default: the machine's first address. */
  readonly nodeAddress?: string;
  /** See serviceInterfaceName. */
  readonly interfaceOf: string;
  readonly logger: Logger;
}

export interface PreparedDns {
  readonly settings: DnsSettings;
  /** Takes the address off this machine. */
  undo(): Promise<void>;
}

const DNS_PORT = 53;

/** Throws UserError for a domain that is none. */
export function checkClusterDomain(domain: string): void {
  try {
    parseClusterDomain(domain);
  } catch (error) {
    throw new UserError(`--cluster-domain: ${errorMessage(error)}`, { cause: error });
  }
}

/**
 * Returns undefined if DNS is not wanted, or cannot run and was not asked for. Throws UserError if
 * it was asked for and cannot run.
 */
export async function prepareDns(request: DnsRequest): Promise<PreparedDns | undefined> {
  const { wanted, podNetwork, logger } = request;
  if (wanted === false || (wanted === undefined && !podNetwork)) return undefined;
  try {
    return await prepare(request);
  } catch (error) {
    if (wanted === true) throw new UserError(`--dns: ${errorMessage(error)}`, { cause: error });
    logger.warn('the cluster runs no DNS, pods use the name servers of the node', {
      reason: errorMessage(error),
    });
    return undefined;
  }
}

async function prepare(request: DnsRequest): Promise<PreparedDns> {
  const { serviceCidr, podCidrs, clusterDomain, nodeName, podNetwork } = request;
  const serviceAddress = dnsServiceAddress(parseServiceRanges('--service-cidr', serviceCidr));
  if (serviceAddress === undefined)
    throw new Error(`--service-cidr ${serviceCidr} has no tenth address`);
  const first = machineAddresses().find((address) => isIPv4(address) === isIPv4(serviceAddress));
  const nodeAddress = request.nodeAddress ?? first;
  const reachable = podNetwork && isRoot() && process.platform === 'linux';
  const settings: DnsSettings = {
    clusterDomain,
    serviceAddress,
    reachable,
    listen: reachable ? [{ address: serviceAddress, port: DNS_PORT }] : [],
    ...(nodeAddress !== undefined && { nodeAddress }),
    nodeName,
    allowedClients: [
      ...podCidrs,
      ...serviceCidr.split(','),
      '127.0.0.0/8',
      '::1',
      ...machineAddresses(),
      ...(nodeAddress === undefined ? [] : [nodeAddress]),
      // Pods of other machines come with the address of their node.
      ...(request.hasOtherMachines ? PRIVATE_RANGES : []),
    ],
  };
  if (!reachable) return { settings, undo: () => Promise.resolve() };
  const name = serviceInterfaceName(request.interfaceOf);
  const other = otherInterfaceWith(serviceAddress, name);
  if (other !== undefined)
    throw new Error(
      `${serviceAddress} belongs to the interface ${other}, maybe of another cluster`,
    );
  await addServiceAddress(name, serviceAddress);
  try {
    await checkFree(serviceAddress);
  } catch (error) {
    await removeServiceAddress(name);
    throw error;
  }
  return { settings, undo: () => removeServiceAddress(name) };
}

/** Rejects if something listens on the port of all addresses, such as a name server of the machine. */
async function checkFree(address: string): Promise<void> {
  const at = { address, port: DNS_PORT };
  const udp = await nodeSockets.listenUdp(at, () => undefined);
  try {
    await (await nodeSockets.listenTcp(at, (connection) => connection.destroy())).close();
  } finally {
    await udp.close();
  }
}
