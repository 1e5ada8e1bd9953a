// Records which nodes of a snapshot have changed, for caches that follow it.

/** The changed positions of a snapshot, in the order of the changes. */
export class SnapshotChanges {
  /** Positions refer to the same nodes as long as this value stays. */
  structure = 0;
  #positions: number[] = [];
  /** The number of changes before the first one in #positions. */
  #dropped = 0;

  /** The total number of changes so far. */
  get count(): number {
    return this.#dropped + this.#positions.length;
  }

  /** Records a change at a position. `size`: the number of positions. */
  add(position: number, size: number): void {
    // A follower that lags further behind visits every node, which is cheaper.
    if (this.#positions.length > 2 * size + 1000) {
      const half = this.#positions.length >> 1;
      this.#positions = this.#positions.slice(half);
      this.#dropped += half;
    }
    this.#positions.push(position);
  }

  /** Records that nodes were added or removed. */
  restructure(): void {
    this.structure++;
    this.#dropped += this.#positions.length;
    this.#positions = [];
  }

  /**
   * Calls back with the positions that have changed since the total was `count`; a position may be
   * repeated. Returns false if that is too long ago.
   */
  since(count: number, changed: (position: number) => void): boolean {
    if (count < this.#dropped) return false;
    for (let i = count - this.#dropped; i < this.#positions.length; i++)
      changed(this.#positions[i]!);
    return true;
  }
}

/** Updates values that were computed from each node, at a cost proportional to the changes. */
export class SnapshotFollower {
  readonly #changes: SnapshotChanges;
  #structure = -1;
  #count = 0;

  constructor(changes: SnapshotChanges) {
    this.#changes = changes;
  }

  /** Follows the changes. `reset`: recompute everything. `changed`: recompute this position. */
  follow(reset: () => void, changed: (position: number) => void): void {
    const changes = this.#changes;
    if (changes.structure === this.#structure && changes.count === this.#count) return;
    if (changes.structure !== this.#structure || !changes.since(this.#count, changed)) reset();
    this.#structure = changes.structure;
    this.#count = changes.count;
  }
}
