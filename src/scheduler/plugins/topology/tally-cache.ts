// The tallies that were asked for lately: pods made from one template ask for the same ones.

import type { SnapshotReader } from '#scheduler/framework/snapshot.ts';
import type { Tally } from './tally.ts';

/**
 * Numbers kept in all tallies together, about 100 bytes each; the tally not used for longest goes
 * first.
 */
const DEFAULT_BUDGET = 2_000_000;
/** Kept however large the cluster is. */
const FEWEST = 8;

export class TallyCache {
  readonly #snapshot: SnapshotReader;
  readonly #budget: number;
  /** A Map keeps the order of insertion, which is made that of use. */
  readonly #tallies = new Map<string, Tally>();

  constructor(snapshot: SnapshotReader, budget: number = DEFAULT_BUDGET) {
    this.#snapshot = snapshot;
    this.#budget = budget;
  }

  /**
   * The tally with this key, up to date. `make`: called if there is none; all that it depends on
   * has to be in the key.
   */
  get<T extends Tally>(key: string, make: () => T): T {
    // Each key is used for tallies of one type.
    const tally = (this.#tallies.get(key) as T | undefined) ?? make();
    this.#tallies.delete(key);
    this.#tallies.set(key, tally);
    tally.update();
    if (
      this.#tallies.size > FEWEST &&
      this.#tallies.size * this.#snapshot.nodes.length > this.#budget
    ) {
      const [oldest] = this.#tallies;
      if (oldest !== undefined) {
        this.#tallies.delete(oldest[0]);
        oldest[1].close();
      }
    }
    return tally;
  }
}
