// A cluster as a value.

import type { LocalAuthorizer } from '#apiserver/authorization/local-authorizer.ts';
import type { LocalWebhooks } from '#apiserver/webhooks/client/index.ts';
import type { Client } from '#client/client.ts';
import type { RandomState } from '#machinery/random.ts';
import type { NodeState } from '#runtime/simulated/node-state.ts';
import type { MemoryState } from '#storage/memory/index.ts';
import type { WakingClock } from './waking-clock.ts';

/**
 * The state of a cluster at one moment: everything that its components read. Clusters that are made
 * from it share memory with it, and never change it.
 */
export interface ClusterState {
  /** Wall-clock milliseconds since the epoch. */
  readonly now: number;
  readonly storage: MemoryState;
  /** The sandboxes and containers of each node. Empty: the nodes do not run. */
  readonly nodes: readonly NodeState[];
  readonly random: RandomState;
  /** Handlers of webhooks and of authorization that are functions of the program. Must not be changed. */
  readonly localWebhooks: LocalWebhooks;
  readonly localAuthorizer: LocalAuthorizer;
  /** Nodes whose kubelets are stopped. */
  readonly stoppedNodes: ReadonlySet<string>;
  /** Nodes whose kubelets do nothing but report themselves until their pods change. */
  readonly quietNodes: ReadonlySet<string>;
  /** Set for a past revision, which can only be read. */
  readonly readOnlyAt?: number;
}

/** The part of the handle of a cluster that is needed here. The rest is passed on. */
export interface Handle {
  readonly client: Client;
  stop(): Promise<void>;
}

/** A cluster between two calls of `restore`. */
export interface Incarnation {
  readonly handle: Handle;
  /** Returns the state. Everything has settled. */
  freeze(): ClusterState;
  /** Resolves when all components run. */
  awake(): Promise<void>;
}

/** Makes a cluster from a state. The clock shows the time of the state. */
export type Revive = (state: ClusterState, clock: WakingClock) => Incarnation;
