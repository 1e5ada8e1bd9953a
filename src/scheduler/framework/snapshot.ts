// The cluster's nodes as plugins see them during one scheduling cycle. The scheduler's cache
// implements these interfaces.

import type { NodeInfo } from './node-info.ts';
import type { Pod } from './objects.ts';
import type { SnapshotChanges } from './snapshot-changes.ts';

/** The part of a snapshot that plugins may read. It does not change during a cycle. */
export interface SnapshotReader {
  /** All nodes in the order of their evaluation: zones alternate. */
  readonly nodes: readonly NodeInfo[];
  get(name: string): NodeInfo | undefined;
  /** Returns the node's index in `nodes`. */
  positionOf(name: string): number | undefined;
  /**
   * By position: a number that changes whenever the NodeInfo or the set of pods nominated to the
   * node changes. A result about a node is valid as long as the number is the same; comparing it
   * does not touch the NodeInfo.
   */
  readonly versions: Float64Array;
  /** The positions whose NodeInfo was replaced. */
  readonly changes: SnapshotChanges;
  /** The pods on `nodes`, grouped by what selectors can distinguish. */
  readonly podGroups: PodGroupIndex;
}

/**
 * Counts pods by selection, at a cost proportional to the changes: a counter is notified only of
 * pods that it selects.
 */
export interface PodGroupIndex {
  /**
   * The positions whose Node object was replaced, as opposed to those where only pods have changed.
   */
  readonly nodeChanges: SnapshotChanges;
  /** Updates the counts to the snapshot's state, and notifies the counters. */
  update(): void;
  follow(counter: PodCounter): void;
  unfollow(counter: PodCounter): void;
  /**
   * Calls back with the current number of selected pods by position. A position may be repeated.
   */
  forEachCount(counter: PodCounter, found: (position: number, count: number) => void): void;
}

/** Selects the pods to count. */
export interface PodSelection {
  /**
   * Reports whether pods with this pod's namespace, labels and deletion state are selected. The
   * result must not change.
   */
  readonly selects: (pod: Pod) => boolean;
  /**
   * A label that all selected pods have, if there is one: without it, every new group must be
   * tested.
   */
  readonly label: readonly [key: string, value: string] | undefined;
}

/**
 * Notified by `PodGroupIndex.update` that the number of selected pods at a position has changed by
 * `by`.
 */
export interface PodCounter {
  readonly selection: PodSelection;
  changed(position: number, by: number): void;
}
