// The functions of a cluster that can be copied.

declare const CHECKPOINT: unique symbol;

/** A state of a cluster that the cluster can go back to. It may be used any number of times. */
export interface Checkpoint {
  readonly [CHECKPOINT]: true;
  readonly revision: number;
  /** The time of the cluster's clock, in milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Copies of a cluster. They need `clock: 'virtual'`. A cluster with a port has `fork` alone, and the
 * fork has a port of its own; the others reject with TypeError.
 */
export interface Forking<Copy> {
  /**
   * Returns an independent cluster in the same state: objects, revisions, history, time, containers
   * with their logs and files, the sequence of random names. Waits until everything has settled.
   * The fork is the caller's to stop. Controllers of `runController` are not copied.
   */
  fork(): Promise<Copy>;
  /**
   * Returns the API as it was at a revision: objects, and history for watches, with the clock at
   * that time. It can only be read; nodes, controllers and scheduler do not run. Rejects with
   * StatusError (Expired) for a revision that history no longer has.
   */
  at(revision: number): Promise<Copy>;
  /** Returns the present state, once everything has settled. */
  checkpoint(): Promise<Checkpoint>;
  /**
   * Goes back to a checkpoint of this cluster, or of one that is a fork of it or that it is a fork
   * of: `client` and `clock` stay the same objects. Requests, watches and streams that are open
   * end, and controllers of `runController` stop.
   */
  restore(checkpoint: Checkpoint): Promise<void>;
}
