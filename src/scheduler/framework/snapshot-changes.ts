// Records which nodes have changed in a snapshot since the last scheduling cycle, for caches that
// follow it.

/** Which positions of a snapshot have changed, in the order in which that happened. */
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
    // For a reader that is further behind, visiting every node is cheaper.
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

  /**
   * Calls back with what has changed since there were `count` changes, a position maybe twice.
   * False: that is too long ago.
   */
  since(count: number, changed: (position: number) => void): boolean {
    if (count < this.#dropped) return false;
    for (let i = count - this.#dropped; i < this.#positions.length; i++)
      changed(this.#positions[i] as number);
    return true;
  }
}

/** Keeps something that was computed from each node up to date at the cost of what has changed. */
export class SnapshotFollower {
  readonly #changes: SnapshotChanges;
  #structure = -1;
  #count = 0;

  constructor(changes: SnapshotChanges) {
    this.#changes = changes;
  }

  /** `reset`: compute everything anew. `changed`: this position. */
  follow(reset: () => void, changed: (position: number) => void): void {
    const changes = this.#changes;
    if (changes.structure === this.#structure && changes.count === this.#count) return;
    if (changes.structure !== this.#structure || !changes.since(this.#count, changed)) reset();
    this.#structure = changes.structure;
    this.#count = changes.count;
  }
}
