// The options of `startCluster`, and the cluster that it returns.

import type { RuntimeConfig } from '#apiserver/runtime-config.ts';
import type { Client } from '#client/client.ts';
import type { VirtualClock, Clock } from '#machinery/clock.ts';
import type { DnsRecordType, Resolved } from '#dns/resolved.ts';
import type { Logger } from '#machinery/log.ts';
import type { PluginRegistration } from '#scheduler/framework/index.ts';
import type { Faults } from '#simulation/index.ts';
import type { AccessOptions } from '../access/options.ts';
import type { Webhooks } from './extensions/types.ts';
import type { Forking } from './forks/forking.ts';
import type { ClusterHandle } from './handle.ts';
import type { Insight } from './insight/types.ts';
import type { ReplayedRequest } from './recording.ts';

export interface StartClusterOptions {
  /** The number of nodes. Their pods are simulated. Default: 1. */
  readonly nodes?: number;
  /** 'virtual': time moves only by `clock.advance`. Default: 'real'. */
  readonly clock?: 'real' | 'virtual';
  /**
   * The time at which a virtual clock starts, in milliseconds since the epoch. Default: the
   * beginning of 2026.
   */
  readonly startMs?: number;
  /**
   * On a virtual clock: 'lazy' computes heartbeats of nodes when the clock stops, and leaves out
   * periodic work that would find nothing new; 'eager' does all of it when it is due. Clients see
   * the same. Default: 'lazy'.
   */
  readonly heartbeats?: 'lazy' | 'eager';
  /**
   * 'lazy': a kubelet of a fork begins when something happens on its node; 'eager': all begin with
   * the fork's first write. Clients see the same. Default: 'lazy'.
   */
  readonly forks?: 'lazy' | 'eager';
  /**
   * The same seed gives the same names, UIDs and choices. Default with a virtual clock: the
   * environment variable COXSWAIN_SEED, or 'coxswain'; otherwise random.
   */
  readonly seed?: string | number;
  /**
   * Opens the port of the API server on 127.0.0.1, for kubectl and other clients. 0 picks a free
   * one. Default: no port.
   */
  readonly port?: number;
  /**
   * Serves the web console at /console/ of the port (docs/console.md); a virtual clock can be moved
   * there. Needs `port`. Default: false.
   */
  readonly console?: boolean;
  /** Default: '10.244.0.0/16', or a wider range for more than 256 nodes. */
  readonly podCidr?: string;
  /** One range, or one of each family with a comma between them. Default: '10.96.0.0/16'. */
  readonly serviceCidr?: string;
  /** A KubeSchedulerConfiguration (v1) as an object. Default: one profile with all defaults. */
  readonly schedulerConfiguration?: unknown;
  /**
   * Plugins that the configuration can name, beside the built-in ones
   * (docs/writing-a-scheduler-plugin.md).
   */
  readonly schedulerPlugins?: readonly PluginRegistration[];
  /**
   * Changes of the served API versions: `{ 'storagemigration.k8s.io/v1beta1': 'true' }`. Default:
   * stable ones are served.
   */
  readonly runtimeConfig?: RuntimeConfig;
  /**
   * The control of access: admission plugins, and the files of kube-apiserver (docs/access.md), which
   * are read once. Default: Node and RBAC authorization, and the default admission plugins.
   */
  readonly access?: AccessOptions;
  /**
   * The controllers to run: '*' all default ones, 'foo' this one, '-foo' not this one. Default:
   * all. Without 'node-lifecycle-controller', nodes keep the taint
   * node.kubernetes.io/not-ready, and only pods that tolerate it are scheduled. Without
   * 'serviceaccount-controller', a pod is rejected until its ServiceAccount exists.
   */
  readonly controllers?: readonly string[];
  /**
   * Runs the cluster's DNS, with the Service `kube-dns`: `resolve` asks it. With `dnsPort` it also
   * listens on 127.0.0.1 (0: any port that is free). Names outside of the cluster are resolved only
   * by servers that the ConfigMap `cluster-dns` names. Default: none.
   */
  readonly dns?: boolean;
  readonly dnsPort?: number;
  /** Default: 'cluster.local'. */
  readonly clusterDomain?: string;
  /** The capacity of each node. Default: 4 CPUs, 32 GiB, 110 pods. */
  readonly nodeCapacity?: Readonly<Record<string, string>>;
  /**
   * So many instances of the controller manager and the scheduler run, of which one leads by a
   * Lease: 'controller-manager#1', 'controller-manager#2' … Default: 1, without election.
   */
  readonly controlPlanes?: number;
  /** Keeps a hash of all requests and watch events: `historyHash`. Default: false. */
  readonly hashHistory?: boolean;
  /**
   * With `hashHistory`: called with each line that is hashed. It shows where two histories part.
   * Default: nothing is called.
   */
  readonly onHistory?: (line: string) => void;
  /**
   * Records the requests of clients that come by the port or the agent in this file, which is
   * created. Watches, exec and port-forward are not recorded. The file has no credentials, but the
   * bodies of the requests. Forks record nothing.
   */
  readonly recordTo?: string;
  /**
   * Records everything from the start, for `events` and `history`. Default: nothing is recorded
   * until `events` is called.
   */
  readonly insight?: boolean;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
}

/** A cluster of `startCluster`. */
export interface EmbeddedCluster<C extends Clock = Clock>
  extends ClusterHandle<C>, Forking<EmbeddedCluster<VirtualClock>>, Insight {
  /** The seed; undefined if chance is not seeded. A fork has that of the first cluster. */
  readonly seed: string | number | undefined;
  /** The port of the cluster's DNS on 127.0.0.1; undefined without `dnsPort`. */
  readonly dnsPort: number | undefined;
  /** Faults, each in one line: docs/faults.md. */
  readonly faults: Faults;
  /**
   * Returns the SHA-256 of all requests and watch events until now, in their order. With a virtual
   * clock, the same seed and the same test it is the same each time, on every machine. Throws
   * TypeError without `hashHistory`.
   */
  historyHash(): string;
  /**
   * Sends the requests of a recording (`recordTo`) in their order, as their users, each at its time
   * after the beginning. Returns their status codes. Throws TypeError for a file that is none, and
   * without a virtual clock.
   */
  replay(recording: string): Promise<readonly ReplayedRequest[]>;
  /**
   * Asks the cluster's DNS: `resolve('web.default.svc.cluster.local', 'A')`. Rejects with TypeError
   * without `dns`.
   */
  resolve(name: string, type: DnsRecordType): Promise<Resolved>;
  /** Handlers of admission, conversion and authorization as plain functions. */
  readonly webhooks: Webhooks;
  /**
   * Returns a client whose requests are made by another user, who may do what RBAC permits:
   * `clientOf({ name: 'alice' })`.
   */
  clientOf(user: { readonly name: string; readonly groups?: readonly string[] }): Client;
  /**
   * Stops the kubelet of a node ('node-1', 'node-2', …), as a crash would: its containers keep
   * running. Idempotent.
   */
  stopNode(name: string): Promise<void>;
  /** Starts the kubelet of a stopped node again. It finds the containers that run. Idempotent. */
  startNode(name: string): Promise<void>;
}

/** A cluster with a virtual clock. */
export type ForkableCluster = EmbeddedCluster<VirtualClock>;
