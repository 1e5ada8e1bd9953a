// Counts the nodes of a snapshot with a rare property, at a cost proportional to the changes: a
// cycle that evaluates hundreds of nodes need not check each of them.

import type { NodeInfo } from './node-info.ts';
import type { SnapshotReader } from './snapshot.ts';
import { SnapshotFollower } from './snapshot-changes.ts';

export class NodesWith {
  readonly #snapshot: SnapshotReader;
  readonly #has: (node: NodeInfo) => boolean;
  readonly #follower: SnapshotFollower;
  /** By position: 1 if the node has the property. */
  #having = new Uint8Array(0);
  /** The number of nodes with the property. */
  #count = 0;

  /** Creates a counter. `has`: must depend on the NodeInfo only. */
  constructor(snapshot: SnapshotReader, has: (node: NodeInfo) => boolean) {
    this.#snapshot = snapshot;
    this.#has = has;
    this.#follower = new SnapshotFollower(snapshot.changes);
  }

  /** Returns the number of nodes with the property in the current snapshot. */
  get count(): number {
    this.#follower.follow(this.#reset, this.#changed);
    return this.#count;
  }

  readonly #reset = (): void => {
    const { nodes } = this.#snapshot;
    this.#having = Uint8Array.from(nodes, (node) => (this.#has(node) ? 1 : 0));
    this.#count = this.#having.reduce((sum, one) => sum + one, 0);
  };

  readonly #changed = (position: number): void => {
    const now = this.#has(this.#snapshot.nodes[position]!) ? 1 : 0;
    this.#count += now - this.#having[position]!;
    this.#having[position] = now;
  };
}
