// The values that network policies become on a node: which policies a local pod has, what each
// policy allows, and the sets of addresses that policies refer to. Nothing here knows nftables.

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

/** A port of a container that has a name. */
export interface NamedPort {
  readonly protocol: Protocol;
  readonly name: string;
  readonly port: number;
}

/** A pod with an address of its own, as far as policies depend on it. */
export interface PolicyPod {
  /** 'namespace/name'. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  /** Canonical. */
  readonly addresses: readonly string[];
  readonly ports: readonly NamedPort[];
  /** The pod is on this node. */
  readonly local: boolean;
  /**
   * Of two pods with the same address, the one with the greater value has it: the other's sandbox
   * is gone.
   */
  readonly since: number;
}

/** From the first to the last port. */
export type PortRange = readonly [first: number, last: number];

/** Inclusive addresses of one family. */
export interface AddressRange {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly last: bigint;
}

/** A set of addresses that follows pods. Two policies with the same selectors share it. */
export interface Group {
  /** Determined by everything below, and unique. */
  readonly id: string;
  /** The namespaces of the pods: one by name, or by labels. */
  readonly namespaces: string | Selector;
  readonly pods: Selector;
  /** Only pods of this node. */
  readonly localOnly: boolean;
  /** Only addresses in these ranges. */
  readonly within?: readonly AddressRange[];
  /**
   * The set has addresses with the numbers that these ports have in each pod: 'ADDRESS . tcp . 80'.
   * Absent: addresses alone.
   */
  readonly ports?: readonly Omit<NamedPort, 'port'>[];
}

/** What the other end of a connection is matched by. */
export type Peer =
  | { readonly kind: 'group'; readonly group: Group }
  | { readonly kind: 'ranges'; readonly ranges: readonly AddressRange[] };

/** What the destination's protocol and port are matched by. */
export type PortMatch =
  | {
      readonly kind: 'numbers';
      readonly protocol: Protocol;
      /** Sorted, disjoint. */ readonly ranges: readonly PortRange[];
    }
  /** The destination's address with its port is in the group. */
  | { readonly kind: 'named'; readonly group: Group };

/** Traffic that is allowed: any of the peers, to any of the ports. */
export interface Allowance {
  /** Undefined: everywhere. */
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
  /** Parts of the policy that cannot be programmed, for the log. They allow nothing. */
  readonly problems: readonly string[];
}

/** The policies of an address of a local pod. */
export interface PodRules {
  /** Keys of the policies that isolate the pod, sorted. Undefined: everything is allowed. */
  readonly ingress: readonly string[] | undefined;
  readonly egress: readonly string[] | undefined;
}

/** All rules of a node. */
export interface NodeRules {
  /**
   * There are policies. Addresses of this node that `pods` does not have are cut off: a policy may
   * be about them.
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
  /** The elements have a protocol and a port. */
  readonly hasPorts: boolean;
  readonly elements: ReadonlySet<string>;
}

/** The difference between two states of NodeRules. */
export interface RulesChange {
  /** Addresses whose entry in `pods` is another, or gone. */
  readonly pods: ReadonlySet<string>;
  readonly policies: ReadonlySet<string>;
  /**
   * By group: element → whether it was added. A new group has all of its elements, a group that is
   * gone has none.
   */
  readonly groups: ReadonlyMap<string, ReadonlyMap<string, boolean>>;
}

/** Applies rules to the system. Calls do not overlap. */
export interface PolicyBackend {
  /**
   * Makes the system what the rules say. Without `change`, whatever is there is replaced, in one
   * step. After an error the next call must be without.
   */
  sync(rules: NodeRules, change?: RulesChange): Promise<void>;
  /** Removes everything of ours from the system. Idempotent. */
  clear(): Promise<void>;
  /** Reports whether what was programmed is still there. */
  isPresent(): Promise<boolean>;
}

/** Allowances of a policy in a direction; undefined if it does not isolate in it. */
export const allowancesOf = (
  policy: CompiledPolicy,
  direction: Direction,
): readonly Allowance[] | undefined => (direction === 'ingress' ? policy.ingress : policy.egress);
