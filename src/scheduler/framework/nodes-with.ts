// Whether any node of a snapshot has something that few nodes have, at the cost of what has
// changed: so that a cycle that looks at hundreds of nodes need not look whether one of them has
// it.

import type { NodeInfo } from './node-info.ts';
import type { SnapshotReader } from './snapshot.ts';
import { SnapshotFollower } from './snapshot-changes.ts';

export class NodesWith {
  readonly #snapshot: SnapshotReader;
  readonly #has: (node: NodeInfo) => boolean;
  readonly #follower: SnapshotFollower;
  /** By position: 1 if the node has it. */
  #having = new Uint8Array(0);
  /** How many have it. */
  #count = 0;

  /** `has` must depend on nothing but the NodeInfo. */
  constructor(snapshot: SnapshotReader, has: (node: NodeInfo) => boolean) {
    this.#snapshot = snapshot;
    this.#has = has;
    this.#follower = new SnapshotFollower(snapshot.changes);
  }

  /** How many nodes of the snapshot have it, as the snapshot is now. */
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
    const now = this.#has(this.#snapshot.nodes[position] as NodeInfo) ? 1 : 0;
    this.#count += now - (this.#having[position] as number);
    this.#having[position] = now;
  };
}
