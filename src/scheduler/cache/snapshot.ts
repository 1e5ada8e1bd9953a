// The cluster's nodes as one scheduling cycle sees them.

import type { NodeInfo } from '../framework/node-info.ts';
import { PodGroups } from './pod-groups.ts';
import { SnapshotChanges } from './snapshot-changes.ts';

/** What plugins may read. It holds still during a cycle. */
export interface SnapshotReader {
  /** Every node that exists, in the order in which they are looked at: zones take turns. */
  readonly nodes: readonly NodeInfo[];
  get(name: string): NodeInfo | undefined;
  /** The node's index in `nodes`. */
  positionOf(name: string): number | undefined;
  /**
   * By position, another number whenever the node is another, or the pods that are promised it are others: whether what was found
   * out about a node still holds is asked of many, and few of them are looked at.
   */
  readonly versions: Float64Array;
  /** The positions that have got another NodeInfo. */
  readonly changes: SnapshotChanges;
  /** The pods on `nodes` by what selectors can tell of them. */
  readonly podGroups: PodGroups;
}

/**
 * Brought up to date by SchedulerCache.updateSnapshot, which replaces only the NodeInfos that have changed since. Nothing else
 * writes to it, but that promises are told of when they are made.
 */
export class Snapshot implements SnapshotReader {
  /** In the order of the cache's node tree. */
  nodes: NodeInfo[] = [];
  /** Another array whenever positions mean other nodes. */
  versions = new Float64Array(0);
  /** Name → index in nodes. */
  readonly positions = new Map<string, number>();
  /** The greatest generation of a NodeInfo that this snapshot has seen. */
  generation = 0;
  /** Which version of the node tree `nodes` was listed from. */
  treeVersion = -1;
  readonly changes = new SnapshotChanges();
  readonly podGroups: PodGroups = new PodGroups(this);
  #lastVersion = 0;

  /** What was found out about the node at this position holds no longer. */
  renew(position: number): void {
    this.versions[position] = ++this.#lastVersion;
  }

  /** The pods that are promised the node are others. */
  promisesChanged(node: string): void {
    const position = this.positions.get(node);
    if (position !== undefined) this.renew(position);
  }

  get(name: string): NodeInfo | undefined {
    const position = this.positions.get(name);
    return position === undefined ? undefined : this.nodes[position];
  }

  positionOf(name: string): number | undefined {
    return this.positions.get(name);
  }
}
