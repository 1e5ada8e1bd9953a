// The values of the pod network: nodes as the cluster describes them, and the actual and desired
// state of the machine.

import type { IpAddress, IpFamily, IpRange } from '#machinery/net/ip.ts';

/**
 * The path to pods of other nodes:
 * - auto: by a route if the node is on a link of this machine, otherwise by VXLAN;
 * - routes: by routes only. Nodes that are not on a link of this machine are left to the network in
 *   between;
 * - vxlan: always by VXLAN;
 * - none: no path. Another program, such as a CNI plugin of the cluster, provides the pod network.
 */
export const POD_NETWORK_MODES = ['auto', 'routes', 'vxlan', 'none'] as const;
export type PodNetworkMode = (typeof POD_NETWORK_MODES)[number];

/** A node as the API has it: unchecked text. */
export interface NodeRecord {
  readonly name: string;
  /** The creation time, in RFC 3339. */
  readonly created: string;
  readonly podCidrs: readonly string[];
  /** Addresses of the type InternalIP, in the order of the Node object. */
  readonly addresses: readonly string[];
}

/** An address, with the range of its link. */
export interface LinkAddress extends IpAddress {
  readonly range: IpRange;
}

export interface Link {
  readonly name: string;
  readonly mtu: number;
  /** Administratively up, and with a carrier if the kernel reports it. */
  readonly isUp: boolean;
  /**
   * Frames have hardware addresses, so a route may have a neighbour as its gateway. False for
   * tunnels such as WireGuard.
   */
  readonly isEthernet: boolean;
  readonly isLoopback: boolean;
  /** The bridge of which the link is a port. */
  readonly master: string | undefined;
  readonly addresses: readonly LinkAddress[];
}

/** A route of the main table that another program owns. */
export interface ForeignRoute {
  readonly range: IpRange;
  readonly link: string;
  /** Undefined: the range is on the link. */
  readonly gateway: IpAddress | undefined;
  /** The kernel created the route for an address of the link. */
  readonly isConnected: boolean;
  /** Lower values win. */
  readonly metric: number;
}

/** The VXLAN device. */
export interface VxlanDevice {
  /** The VXLAN network identifier. */
  readonly id: number;
  /** The UDP port of all nodes. */
  readonly port: number;
  /** The node's own address, the source of tunneled packets. */
  readonly local: string;
  /** The hardware address. */
  readonly mac: string;
  readonly mtu: number;
  /** The first addresses of the node's pod ranges, with the full prefix length. Sorted. */
  readonly addresses: readonly string[];
}

export interface Route {
  readonly family: IpFamily;
  /** The pod range of a node. */
  readonly destination: string;
  /** The next hop. */
  readonly via: string;
  readonly link: string;
}

/**
 * Our part of the kernel's state, actual or desired. Keys are canonical text, so that two states
 * can be compared.
 */
export interface PodNetworkState {
  readonly vxlan: VxlanDevice | undefined;
  /** By destination. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Entries of the VXLAN device: a node's hardware address in the tunnel → its address. */
  readonly forwarding: ReadonlyMap<string, string>;
  /** Neighbours on the VXLAN device: address → hardware address. */
  readonly neighbours: ReadonlyMap<string, string>;
}

export const EMPTY_STATE: PodNetworkState = {
  vxlan: undefined,
  routes: new Map(),
  forwarding: new Map(),
  neighbours: new Map(),
};

/** The state of this machine. */
export interface Machine {
  readonly links: readonly Link[];
  readonly foreignRoutes: readonly ForeignRoute[];
  /** Our own part, of this process or an earlier one. */
  readonly own: PodNetworkState;
}

/** Settings that never change while the process runs. */
export interface PodNetworkSettings {
  readonly mode: Exclude<PodNetworkMode, 'none'>;
  /** The names of our objects on this machine. */
  readonly names: PodNetworkNames;
  readonly vxlanId: number;
  readonly vxlanPort: number;
  /** The ranges of all pods. Node ranges outside of them are rejected. Empty: unknown. */
  readonly clusterCidrs: readonly string[];
  /** The ranges of services: a node must not have one. Empty: unknown. */
  readonly serviceCidrs: readonly string[];
}

export interface PodNetworkNames {
  /** The bridge of the node's pods. */
  readonly bridge: string;
  /** The VXLAN device. */
  readonly vxlan: string;
  /** The nftables table, in the families ip and ip6. */
  readonly table: string;
  /**
   * The metric of our routes. Together with the protocol it distinguishes them from routes of other
   * programs and other clusters on this machine.
   */
  readonly metric: number;
}

export const DEFAULT_VXLAN_ID = 1;
/**
 * The kernel's default port, also that of flannel. The port assigned by IANA, 4789, is often used
 * by the network of virtual machines.
 */
export const DEFAULT_VXLAN_PORT = 8472;
