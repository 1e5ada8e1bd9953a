// The cluster's nodes as plugins see them during one scheduling cycle. The scheduler's cache
// implements these interfaces.

import type { NodeInfo } from './node-info.ts';
import type { Pod } from './objects.ts';
import type { SnapshotChanges } from './snapshot-changes.ts';

/** The part of a snapshot that plugins may read. It does not change during a cycle. */
export interface SnapshotReader {
  /** Every node that exists, in the order in which they are looked at: zones take turns. */
  readonly nodes: readonly NodeInfo[];
  get(name: string): NodeInfo | undefined;
  /** The node's index in `nodes`. */
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
 * Counts pods by selection, at the cost of what changes: a counter hears only of the pods that it
 * selects.
 */
export interface PodGroupIndex {
  /**
   * The positions whose Node object was replaced, as opposed to those where only pods came and
   * went.
   */
  readonly nodeChanges: SnapshotChanges;
  /** Brings the counts up to date with the snapshot, and notifies the counters. */
  update(): void;
  follow(counter: PodCounter): void;
  unfollow(counter: PodCounter): void;
  /**
   * Calls back with the present counts of the pods that the counter selects. A position may come
   * several times.
   */
  forEachCount(counter: PodCounter, found: (position: number, count: number) => void): void;
}

/** Which pods are counted. */
export interface PodSelection {
  /**
   * Whether pods with this one's namespace, labels and deletion are meant. The answer for them
   * never changes.
   */
  readonly selects: (pod: Pod) => boolean;
  /**
   * A label that all of them have, if there is one: without it, every new group has to be asked
   * about.
   */
  readonly label: readonly [key: string, value: string] | undefined;
}

/** Notified by `PodGroupIndex.update`: `by` more of the pods that it selects are at a position. */
export interface PodCounter {
  readonly selection: PodSelection;
  changed(position: number, by: number): void;
}
