// The values between the proxy's decisions and its back ends: rules. This file is independent of
// nftables and sockets.

import type { Service as CoreService } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Protocol } from '#client/endpoints/index.ts';
import type { IpFamily } from '#machinery/net/ip.ts';

export type Service = Immutable<CoreService>;
export type Slice = Immutable<EndpointSlice>;
export type { Protocol };

/** The properties of the node that decisions depend on. */
export interface NodeFacts {
  readonly name: string;
  /** The label topology.kubernetes.io/zone; '' if the node has none. */
  readonly zone: string;
  /** The addresses of the node, in canonical form. */
  readonly addresses: ReadonlySet<string>;
  /**
   * Ports of the node's own components, such as 'tcp/6443'. No service gets them at an address of
   * the node.
   */
  readonly reservedPorts: ReadonlySet<string>;
}

/** An address that traffic may be sent to. */
export interface Target {
  readonly ip: string;
  readonly port: number;
  /** Whether the endpoint is on this node. */
  readonly local: boolean;
}

/**
 * The destination of traffic: the targets of the traffic policy Cluster or Local, or none.
 * `reject`: no endpoint exists, so the client gets an error at once. `drop`: the policy is Local
 * and only other nodes have endpoints, so that a load balancer tries another node.
 */
export type Destination = 'cluster' | 'local' | 'reject' | 'drop';

/**
 * The rules of one port of a service in one address family. Addresses are canonical and of that
 * family.
 */
export interface PortRules {
  /** 'namespace/name:port', for messages. */
  readonly name: string;
  /** A unique identity on the node: 'namespace/name/port/tcp/IPv4'. */
  readonly id: string;
  readonly family: IpFamily;
  readonly protocol: Protocol;
  readonly clusterIP: string;
  readonly port: number;
  /** The node port; 0: none. */
  readonly nodePort: number;
  readonly externalIPs: readonly string[];
  readonly loadBalancerIPs: readonly string[];
  /** The clients that may use the load balancer's addresses. Empty: all. */
  readonly sourceRanges: readonly string[];
  /** How long a client keeps its endpoint, in seconds. 0: no affinity. */
  readonly affinitySeconds: number;
  /**
   * The targets of policy Cluster, sorted by address. Empty if no traffic uses the policy, or no
   * endpoint is usable.
   */
  readonly cluster: readonly Target[];
  readonly local: readonly Target[];
  /** The destination of traffic to the cluster IP. */
  readonly internal: Destination;
  /** The destination of traffic to the node port, external and load balancer addresses. */
  readonly external: Destination;
  /**
   * The external policy is Local: sources are kept, and traffic of the node and its pods uses
   * `cluster`.
   */
  readonly externalLocal: boolean;
  /** All serving endpoints on any node: UDP flows to other endpoints are stale. */
  readonly serving: readonly string[];
}

export interface ServiceRules {
  /** 'namespace/name'. */
  readonly key: string;
  /**
   * The creation time of the service: of two services with the same address and port, the older one
   * wins.
   */
  readonly created: string;
  readonly ports: readonly PortRules[];
  /** The health check node port; 0: none. */
  readonly healthCheckNodePort: number;
  /** The number of addresses of ready endpoints on this node. */
  readonly localReady: number;
  /** Parts that were left out of the rules, with the reasons, for the log. */
  readonly problems: readonly string[];
}

/** Applies rules to the system. Calls do not overlap. */
export interface Backend {
  readonly name: 'nftables' | 'userspace';
  /**
   * Programs the rules. The first call is complete: rules of an earlier process are repaired or
   * removed. Later calls contain changed services only; undefined: the service is gone. After an
   * error the next call is complete again.
   */
  sync(update: RulesUpdate): Promise<void>;
  /** Stops the back end in this process. Rules in the kernel stay. Idempotent. */
  close(): Promise<void>;
}

export interface RulesUpdate {
  /** Whether `changes` contains all existing services. */
  readonly complete: boolean;
  readonly changes: ReadonlyMap<string, ServiceRules | undefined>;
}
