// The cluster's nodes as one scheduling cycle sees them, and what has changed from one cycle to the next.

import type { NodeInfo } from '../framework/node-info.ts';

/** What plugins may read. It holds still during a cycle. */
export interface SnapshotReader {
  /** Every node that exists, in the order in which they are looked at: zones take turns. */
  readonly nodes: readonly NodeInfo[];
  get(name: string): NodeInfo | undefined;
  /** The node's index in `nodes`. */
  positionOf(name: string): number | undefined;
  readonly changes: SnapshotChanges;
}

/** Which positions of a snapshot have got another NodeInfo, in the order in which that happened. */
export class SnapshotChanges {
  /** Positions mean the same nodes as long as this is the same. */
  structure = 0;
  #positions: number[] = [];
  /** How many changes there were before the first one in #positions. */
  #dropped = 0;

  /** How many changes there were so far. */
  get count(): number {
    return this.#dropped + this.#positions.length;
  }

  /** A position has changed, of `size` altogether. */
  add(position: number, size: number): void {
    // Who is further behind than this is better off with looking at every node.
    if (this.#positions.length > 2 * size + 1000) {
      const half = this.#positions.length >> 1;
      this.#positions = this.#positions.slice(half);
      this.#dropped += half;
    }
    this.#positions.push(position);
  }

  /** Nodes have come or gone. */
  restructure(): void {
    this.structure++;
    this.#dropped += this.#positions.length;
    this.#positions = [];
  }

  /** Calls back with what has changed since there were `count` changes, a position maybe twice. False: that is too long ago. */
  since(count: number, changed: (position: number) => void): boolean {
    if (count < this.#dropped) return false;
    for (let i = count - this.#dropped; i < this.#positions.length; i++) changed(this.#positions[i] as number);
    return true;
  }
}

/** Keeps something that was computed from each node up to date at the cost of what has changed. */
export class SnapshotFollower {
  readonly #snapshot: SnapshotReader;
  #structure = -1;
  #count = 0;

  constructor(snapshot: SnapshotReader) {
    this.#snapshot = snapshot;
  }

  /** `reset`: compute everything anew. `changed`: this position. */
  follow(reset: () => void, changed: (position: number) => void): void {
    const { changes } = this.#snapshot;
    if (changes.structure === this.#structure && changes.count === this.#count) return;
    if (changes.structure !== this.#structure || !changes.since(this.#count, changed)) reset();
    this.#structure = changes.structure;
    this.#count = changes.count;
  }
}

/**
 * Brought up to date by SchedulerCache.updateSnapshot, which replaces only the NodeInfos that have changed since. Nothing else
 * writes to it.
 */
export class Snapshot implements SnapshotReader {
  /** In the order of the cache's node tree. */
  nodes: NodeInfo[] = [];
  /** Name → index in nodes. */
  readonly positions = new Map<string, number>();
  /** The greatest generation of a NodeInfo that this snapshot has seen. */
  generation = 0;
  /** Which version of the node tree `nodes` was listed from. */
  treeVersion = -1;
  readonly changes = new SnapshotChanges();

  get(name: string): NodeInfo | undefined {
    const position = this.positions.get(name);
    return position === undefined ? undefined : this.nodes[position];
  }

  positionOf(name: string): number | undefined {
    return this.positions.get(name);
  }
}
