// Decides when history is forgotten: revisions that are too old, and revisions beyond a limit of
// number or size.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { Revision } from '../interface.ts';
import type { MvccStore } from './store.ts';

export interface HistoryLimits {
  /**
   * The time, in ms, for which a revision stays readable and watches can resume from it, unless one
   * of the two limits below is reached.
   */
  readonly historyMs: number;
  /** The interval in ms at which old history is looked for. */
  readonly compactionIntervalMs: number;
  /** The maximum number of revisions of history, of any age. */
  readonly maxHistoryRevisions: number;
  /** The maximum number of bytes of values that only history keeps, of any age. */
  readonly maxHistoryBytes: number;
}

export const DEFAULT_HISTORY_LIMITS: HistoryLimits = {
  historyMs: 5 * 60 * 1000,
  compactionIntervalMs: 60 * 1000,
  maxHistoryRevisions: 100_000,
  maxHistoryBytes: 64 * 1024 * 1024,
};

export interface HistoryKeeperConfig extends HistoryLimits {
  readonly clock: Clock;
  readonly store: MvccStore;
  readonly compact: (revision: Revision) => void;
}

/**
 * The factor by which history may exceed a limit before it is cut back to it, so that not every
 * write compacts.
 */
const SLACK = 1.125;

export class HistoryKeeper {
  readonly #config: HistoryKeeperConfig;
  /**
   * Samples of the current revision with their times, in order. A revision between two samples
   * counts as young as the later one.
   */
  #samples: { readonly at: number; readonly revision: Revision }[] = [];
  /** The timer; it runs exactly while there is history, until stop(). */
  #timer: Timer | undefined;
  #stopped = false;

  constructor(config: HistoryKeeperConfig) {
    this.#config = config;
  }

  /** Checks the limits. Call it after each write (or batch of writes) is in the store. */
  written(): void {
    if (this.#stopped) return;
    const { store, maxHistoryRevisions, maxHistoryBytes } = this.#config;
    if (
      store.historyLength > maxHistoryRevisions * SLACK ||
      store.historyBytes > maxHistoryBytes * SLACK
    ) {
      this.#compact(store.revisionKeeping(maxHistoryRevisions, maxHistoryBytes));
    }
    if (this.#timer === undefined && store.historyLength > 0) {
      this.#timer = this.#config.clock.setInterval(this.#config.compactionIntervalMs, () =>
        this.#tick(),
      );
    }
  }

  /** Stops all compaction. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #tick(): void {
    const { clock, store, historyMs } = this.#config;
    const now = clock.monotonic();
    this.#samples.push({ at: now, revision: store.revision });
    const old = this.#samples.findLast((sample) => sample.at <= now - historyMs);
    if (old !== undefined) {
      this.#samples = this.#samples.slice(this.#samples.indexOf(old));
      this.#compact(old.revision);
    }
    if (store.historyLength > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#samples = [];
  }

  #compact(revision: Revision): void {
    if (revision > this.#config.store.compactedRevision) this.#config.compact(revision);
  }
}
