// The values of the pod network: what the cluster says of nodes, what the machine has, and what the
// machine should have.

import type { IpAddress, IpFamily, IpRange } from '#machinery/net/ip.ts';

/**
 * How pods of other nodes are reached:
 *
 * - auto: by a route where the node is on a link of this machine, by VXLAN otherwise;
 * - routes: by routes alone. Nodes that are not on a link of this machine are left to the network
 *   in between;
 * - vxlan: always by VXLAN;
 * - none: not at all. Another program, such as a CNI plugin of the cluster, makes the network of
 *   pods.
 */
export const POD_NETWORK_MODES = ['auto', 'routes', 'vxlan', 'none'] as const;
export type PodNetworkMode = (typeof POD_NETWORK_MODES)[number];

/** A node as the API has it: text that has not been checked. */
export interface NodeRecord {
  readonly name: string;
  /** RFC 3339. */
  readonly created: string;
  readonly podCidrs: readonly string[];
  /** Addresses of the type InternalIP, in the order of the Node object. */
  readonly addresses: readonly string[];
}

/** An address with the range that is on its link. */
export interface LinkAddress extends IpAddress {
  readonly range: IpRange;
}

export interface Link {
  readonly name: string;
  readonly mtu: number;
  /** Administratively up, and with a carrier as far as the kernel knows. */
  readonly isUp: boolean;
  /**
   * Frames have hardware addresses: a route may name a neighbour as its gateway. False for tunnels
   * such as WireGuard.
   */
  readonly isEthernet: boolean;
  readonly isLoopback: boolean;
  /** The bridge that it is a port of. */
  readonly master: string | undefined;
  readonly addresses: readonly LinkAddress[];
}

/** A route of the main table that is not ours. */
export interface ForeignRoute {
  readonly range: IpRange;
  readonly link: string;
  /** Undefined: the range is on the link. */
  readonly gateway: IpAddress | undefined;
  /** The kernel made it for an address of the link. */
  readonly isConnected: boolean;
  /** Lower values win. */
  readonly metric: number;
}

/** The VXLAN device. */
export interface VxlanDevice {
  /** VXLAN network identifier. */
  readonly id: number;
  /** UDP port of all nodes. */
  readonly port: number;
  /** The node's own address, which tunneled packets come from. */
  readonly local: string;
  /** Hardware address. */
  readonly mac: string;
  readonly mtu: number;
  /** First addresses of the node's pod ranges, with a prefix of all bits. Sorted. */
  readonly addresses: readonly string[];
}

export interface Route {
  readonly family: IpFamily;
  /** The range of pods. */
  readonly destination: string;
  /** Next hop. */
  readonly via: string;
  readonly link: string;
}

/**
 * Our part of the kernel's state, as it is or should be. Keys are canonical text: two states can be
 * compared.
 */
export interface PodNetworkState {
  readonly vxlan: VxlanDevice | undefined;
  /** By destination. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Entries of the VXLAN device: the address of a node by its hardware address in the tunnel. */
  readonly forwarding: ReadonlyMap<string, string>;
  /** Neighbours on the VXLAN device: hardware address by address. */
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
  /** Ours, of this process or an earlier one. */
  readonly own: PodNetworkState;
}

/** Settings that never change while the process runs. */
export interface PodNetworkSettings {
  readonly mode: Exclude<PodNetworkMode, 'none'>;
  /** Names of what is ours on this machine. */
  readonly names: PodNetworkNames;
  readonly vxlanId: number;
  readonly vxlanPort: number;
  /** Ranges of all pods. Ranges of nodes outside of them are rejected. Empty: unknown. */
  readonly clusterCidrs: readonly string[];
  /** Ranges of services: no node may have one of them. Empty: unknown. */
  readonly serviceCidrs: readonly string[];
}

export interface PodNetworkNames {
  /** The bridge of the node's pods. */
  readonly bridge: string;
  /** The VXLAN device. */
  readonly vxlan: string;
  /** The table of nftables, in the families ip and ip6. */
  readonly table: string;
  /**
   * Metric of our routes: with their protocol it tells them from those of other programs and of
   * other clusters on this machine.
   */
  readonly metric: number;
}

export const DEFAULT_VXLAN_ID = 1;
/**
 * The kernel's default, as of flannel. The port that IANA has assigned, 4789, is often taken by the
 * network of virtual machines.
 */
export const DEFAULT_VXLAN_PORT = 8472;
