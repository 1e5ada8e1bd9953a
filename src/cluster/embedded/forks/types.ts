// A cluster as a value, and what can be done with one.

import type { VirtualClock } from '#machinery/clock.ts';
import type { RandomState } from '#machinery/random.ts';
import type { NodeState } from '#runtime/simulated/node-state.ts';
import type { MemoryState } from '#storage/memory/index.ts';
import type { EmbeddedCluster } from '../start-cluster.ts';
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
  /** Nodes whose kubelets are stopped. */
  readonly stoppedNodes: ReadonlySet<string>;
  /** Set for a past revision, which can only be read. */
  readonly readOnlyAt?: number | undefined;
}

/** A cluster between two calls of `restore`. */
export interface Incarnation {
  readonly handle: Omit<EmbeddedCluster, keyof Forking>;
  /** Returns the state. Everything has settled. */
  freeze(): ClusterState;
  /** Resolves when all components run. */
  awake(): Promise<void>;
}

/** Makes a cluster from a state. The clock shows the time of the state. */
export type Revive = (state: ClusterState, clock: WakingClock) => Incarnation;

declare const CHECKPOINT: unique symbol;

/** A state of a cluster that the cluster can go back to. It may be used any number of times. */
export interface Checkpoint {
  readonly [CHECKPOINT]: true;
  readonly revision: number;
  /** The time of the cluster's clock, in milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Copies of a cluster. They need `clock: 'virtual'`, and reject with TypeError for clusters with a
 * port.
 */
export interface Forking {
  /**
   * Returns an independent cluster in the same state: objects, revisions, history, time, containers
   * with their logs and files, the sequence of random names. Waits until everything has settled.
   * The fork is the caller's to stop. Controllers of `runController` are not copied.
   */
  fork(): Promise<EmbeddedCluster<VirtualClock>>;
  /**
   * Returns the API as it was at a revision: objects, and history for watches, with the clock at
   * that time. It can only be read; nodes, controllers and scheduler do not run. Rejects with
   * StatusError (Expired) for a revision that history no longer has.
   */
  at(revision: number): Promise<EmbeddedCluster<VirtualClock>>;
  /** Returns the present state, once everything has settled. */
  checkpoint(): Promise<Checkpoint>;
  /**
   * Goes back to a checkpoint of this cluster, or of one that is a fork of it or that it is a fork
   * of: `client` and `clock` stay the same objects. Requests, watches and streams that are open
   * end, and controllers of `runController` stop.
   */
  restore(checkpoint: Checkpoint): Promise<void>;
}
