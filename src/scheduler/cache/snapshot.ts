// The cluster's nodes as one scheduling cycle sees them.

import type { NodeInfo } from '../framework/node-info.ts';
import type { SnapshotReader } from '../framework/snapshot.ts';
import { SnapshotChanges } from '../framework/snapshot-changes.ts';
import { PodGroups } from './pod-groups.ts';

/**
 * Updated by SchedulerCache.updateSnapshot, which replaces only the NodeInfos that have changed
 * since. The only other writer is `nominationsChanged`.
 */
export class Snapshot implements SnapshotReader {
  /** The nodes in the order of the cache's node tree. */
  nodes: NodeInfo[] = [];
  /** Replaced by another array whenever positions refer to other nodes. */
  versions = new Float64Array(0);
  /** Name → index in nodes. */
  readonly positions = new Map<string, number>();
  /** The greatest generation of a NodeInfo that this snapshot has seen. */
  generation = 0;
  /** The version of the node tree from which `nodes` was listed. */
  treeVersion = -1;
  readonly changes = new SnapshotChanges();
  readonly podGroups: PodGroups = new PodGroups(this);
  #lastVersion = 0;

  /** Marks the results about the node at this position as stale. */
  renew(position: number): void {
    this.versions[position] = ++this.#lastVersion;
  }

  /** Records that the set of pods nominated to the node has changed. */
  nominationsChanged(node: string): void {
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
