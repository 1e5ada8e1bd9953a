// The values of network policies on a node: the policies of each local pod, the traffic that each
// policy allows, and the sets of addresses that policies refer to. This file is independent of
// nftables.

import type { NetworkPolicy as ApiNetworkPolicy } from '#api/groups/networking/v1/index.ts';
import type { Namespace as ApiNamespace, Pod as ApiPod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { IpFamily } from '#machinery/net/ip.ts';
import type { Selector } from '#machinery/selectors/labels.ts';

export type NetworkPolicy = Immutable<ApiNetworkPolicy>;
export type Pod = Immutable<ApiPod>;
export type Namespace = Immutable<ApiNamespace>;
export type Labels = Readonly<Record<string, string>>;
export type Protocol = 'tcp' | 'udp' | 'sctp';
export type Direction = 'ingress' | 'egress';

/** A named port of a container. */
export interface NamedPort {
  readonly protocol: Protocol;
  readonly name: string;
  readonly port: number;
}

/** A pod with its own address, with the fields that policies depend on. */
export interface PolicyPod {
  /** 'namespace/name'. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  /** In canonical form. */
  readonly addresses: readonly string[];
  readonly ports: readonly NamedPort[];
  /** Whether the pod is on this node. */
  readonly local: boolean;
  /**
   * Orders pods with the same address: the pod with the greatest value owns the address, since the
   * sandboxes of the others are gone. It is the time of creation in ms, or a greater number in the
   * order of announcements for pods that this node has announced.
   */
  readonly since: number;
}

/** An inclusive range of ports. */
export type PortRange = readonly [first: number, last: number];

/** An inclusive range of addresses of one family. */
export interface AddressRange {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly last: bigint;
}

/** A set of addresses that follows pods. Policies with the same selectors share a group. */
export interface Group {
  /** A unique identity that is derived from the fields below. */
  readonly id: string;
  /** The namespaces of the pods: one by name, or several by labels. */
  readonly namespaces: string | Selector;
  readonly pods: Selector;
  /** Whether the group contains only pods of this node. */
  readonly localOnly: boolean;
  /** Restricts the addresses to these ranges. */
  readonly within?: readonly AddressRange[];
  /**
   * The elements are addresses with the numbers of these named ports in each pod: 'ADDRESS . tcp .
   * 80'. Absent: addresses only.
   */
  readonly ports?: readonly Omit<NamedPort, 'port'>[];
}

/** Matches the other end of a connection. */
export type Peer =
  | { readonly kind: 'group'; readonly group: Group }
  | { readonly kind: 'ranges'; readonly ranges: readonly AddressRange[] };

/** Matches the destination's protocol and port. */
export type PortMatch =
  | {
      readonly kind: 'numbers';
      readonly protocol: Protocol;
      /** Sorted and disjoint. */ readonly ranges: readonly PortRange[];
    }
  /** The destination's address with its port is in the group. */
  | { readonly kind: 'named'; readonly group: Group };

/** Allowed traffic: with any of the peers, to any of the ports. */
export interface Allowance {
  /** Undefined: all peers. */
  readonly peers: readonly Peer[] | undefined;
  /** Undefined: all ports of all protocols. */
  readonly ports: readonly PortMatch[] | undefined;
}

/** A policy in a form that can be compared and programmed. */
export interface CompiledPolicy {
  /** 'namespace/name'. */
  readonly key: string;
  readonly namespace: string;
  readonly selector: Selector;
  /** Undefined: the policy does not isolate pods in this direction. */
  readonly ingress: readonly Allowance[] | undefined;
  readonly egress: readonly Allowance[] | undefined;
  /** Parts of the policy that cannot be programmed, for the log. They allow no traffic. */
  readonly problems: readonly string[];
}

/** The policies for an address of a local pod. */
export interface PodRules {
  /** The sorted keys of the policies that isolate the pod. Undefined: everything is allowed. */
  readonly ingress: readonly string[] | undefined;
  readonly egress: readonly string[] | undefined;
}

/** All rules of a node. */
export interface NodeRules {
  /**
   * Whether there are policies. If so, addresses of this node that `pods` does not have are
   * blocked, since a policy may select them.
   */
  readonly guarded: boolean;
  /** By address, for all local pods. */
  readonly pods: ReadonlyMap<string, PodRules>;
  /** The policies that select local pods, by key. */
  readonly policies: ReadonlyMap<string, CompiledPolicy>;
  /** The groups that these policies refer to, by id. */
  readonly groups: ReadonlyMap<string, GroupElements>;
}

export interface GroupElements {
  /** Whether the elements contain a protocol and a port. */
  readonly hasPorts: boolean;
  readonly elements: ReadonlySet<string>;
}

/** The difference between two states of NodeRules. */
export interface RulesChange {
  /** Addresses whose entry in `pods` has changed or is gone. */
  readonly pods: ReadonlySet<string>;
  readonly policies: ReadonlySet<string>;
  /**
   * By group: element → whether it was added. A new group has all of its elements, a removed group
   * has none.
   */
  readonly groups: ReadonlyMap<string, ReadonlyMap<string, boolean>>;
}

/** Applies rules to the system. Calls do not overlap. */
export interface PolicyBackend {
  /**
   * Programs the rules. Without `change`, everything is replaced atomically. After an error the
   * next call must have no `change`.
   */
  sync(rules: NodeRules, change?: RulesChange): Promise<void>;
  /** Removes everything that this back end has programmed. Idempotent. */
  clear(): Promise<void>;
  /** Reports whether the programmed rules still exist. */
  isPresent(): Promise<boolean>;
}

/**
 * Returns the allowances of a policy in a direction; undefined if it does not isolate pods in it.
 */
export const allowancesOf = (
  policy: CompiledPolicy,
  direction: Direction,
): readonly Allowance[] | undefined => (direction === 'ingress' ? policy.ingress : policy.egress);
