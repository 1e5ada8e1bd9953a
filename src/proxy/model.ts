// What the proxy decides and what its back ends apply: rules as plain values. Nothing here knows
// nftables or sockets.

import type { Service as CoreService } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Protocol } from '#client/endpoints/index.ts';
import type { IpFamily } from '#machinery/net/ip.ts';

export type Service = Immutable<CoreService>;
export type Slice = Immutable<EndpointSlice>;
export type { Protocol };

/** What the decisions depend on of the node. */
export interface NodeFacts {
  readonly name: string;
  /** The label topology.kubernetes.io/zone; '' if the node has none. */
  readonly zone: string;
  /** Addresses of the node, in canonical form. */
  readonly addresses: ReadonlySet<string>;
  /**
   * 'tcp/6443': ports that the node's own components listen on. No service gets them at an address
   * of the node.
   */
  readonly reservedPorts: ReadonlySet<string>;
}

/** An address that traffic may be sent to. */
export interface Target {
  readonly ip: string;
  readonly port: number;
  /** On this node. */
  readonly local: boolean;
}

/**
 * Where traffic goes: to the targets of the Cluster or the Local traffic policy, or nowhere.
 * `reject`: no endpoint anywhere, the client gets an error at once. `drop`: the policy is Local and
 * only other nodes have endpoints, so a load balancer must look elsewhere.
 */
export type Destination = 'cluster' | 'local' | 'reject' | 'drop';

/** One port of a service in one address family. Addresses are canonical and of that family. */
export interface PortRules {
  /** 'namespace/name:port', for people. */
  readonly name: string;
  /** Identifies the port among all of the node: 'namespace/name/port/tcp/IPv4'. */
  readonly id: string;
  readonly family: IpFamily;
  readonly protocol: Protocol;
  readonly clusterIP: string;
  readonly port: number;
  /** 0: none. */
  readonly nodePort: number;
  readonly externalIPs: readonly string[];
  readonly loadBalancerIPs: readonly string[];
  /** Which clients may use the load balancer's addresses. Empty: all. */
  readonly sourceRanges: readonly string[];
  /** For how long a client stays with its endpoint. 0: no affinity. */
  readonly affinitySeconds: number;
  /** Sorted by address. Empty if no traffic uses the policy, or no endpoint is usable. */
  readonly cluster: readonly Target[];
  readonly local: readonly Target[];
  /** For the cluster IP. */
  readonly internal: Destination;
  /** For node port, external and load balancer addresses. */
  readonly external: Destination;
  /**
   * The external policy is Local: sources are kept, and the node's own traffic and its pods' uses
   * `cluster`.
   */
  readonly externalLocal: boolean;
  /** All endpoints that serve, wherever: flows of UDP to another one are stale. */
  readonly serving: readonly string[];
}

export interface ServiceRules {
  /** 'namespace/name'. */
  readonly key: string;
  /**
   * When the service was made: of two that want the same address and port, the older one gets it.
   */
  readonly created: string;
  readonly ports: readonly PortRules[];
  /** 0: none. */
  readonly healthCheckNodePort: number;
  /** Addresses of ready endpoints on this node. */
  readonly localReady: number;
  /** What was left out of the rules and why, for the log. */
  readonly problems: readonly string[];
}

/** Applies rules to the system. Calls do not overlap. */
export interface Backend {
  readonly name: 'nftables' | 'userspace';
  /**
   * Makes the system what the rules say. The first call is complete: what an earlier process has
   * left is repaired or removed. Later calls have only what has changed; undefined: the service is
   * gone. After an error the next call is complete again.
   */
  sync(update: RulesUpdate): Promise<void>;
  /** Stops what runs in this process. Rules in the kernel stay. Idempotent. */
  close(): Promise<void>;
}

export interface RulesUpdate {
  /** `changes` has all services that there are. */
  readonly complete: boolean;
  readonly changes: ReadonlyMap<string, ServiceRules | undefined>;
}
