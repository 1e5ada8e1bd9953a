// A cache of recently used tallies: pods of one template use the same ones.

import { LruCache } from '#machinery/collections/lru.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { SnapshotReader } from '#scheduler/framework/snapshot.ts';
import { DomainLayout } from './domain-layout.ts';
import type { Tally } from './tally.ts';

/**
 * The maximum number of counts in all tallies, about 100 bytes each; the least recently used tally
 * is dropped first.
 */
const DEFAULT_BUDGET = 2_000_000;
/** The number of layouts that are kept: pods have few topologies. */
const LAYOUTS = 64;
/** The number of tallies that are kept even if the cluster is large. */
const FEWEST = 8;

export class TallyCache {
  readonly #snapshot: SnapshotReader;
  readonly #budget: number;
  /** A Map keeps the order of insertion, which is kept in the order of use. */
  readonly #tallies = new Map<string, Tally>();
  readonly #layouts = new LruCache<string, DomainLayout>({ capacity: LAYOUTS });

  constructor(snapshot: SnapshotReader, budget: number = DEFAULT_BUDGET) {
    this.#snapshot = snapshot;
    this.#budget = budget;
  }

  /**
   * Returns the tally with this key, up to date. `make`: called if there is none; everything that
   * it depends on must be part of the key.
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

  /**
   * Returns the layout with this key, for tallies that share it. `domainOf`: see DomainLayout;
   * everything that it depends on must be part of the key.
   */
  layout(key: string, domainOf: (node: NodeInfo) => string | undefined): DomainLayout {
    let layout = this.#layouts.get(key);
    if (layout === undefined) {
      layout = new DomainLayout(this.#snapshot, domainOf);
      this.#layouts.set(key, layout);
    }
    return layout;
  }
}
