// When history is forgotten: what is older than a time, and what is more than there is room for.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { Revision } from '../interface.ts';
import type { MvccStore } from './store.ts';

export interface HistoryLimits {
  /** A revision stays readable, and a watch resumable from it, for at least this long (ms), unless the two limits below are hit. */
  readonly historyMs: number;
  /** How often to look for history to forget (ms). */
  readonly compactionIntervalMs: number;
  /** The most revisions of history to keep, however young. */
  readonly maxHistoryRevisions: number;
  /** The most bytes of values to keep for history alone, however young. */
  readonly maxHistoryBytes: number;
}

export const DEFAULT_HISTORY_LIMITS: HistoryLimits = {
  historyMs: 5 * 60 * 1000,
  compactionIntervalMs: 60 * 1000,
  maxHistoryRevisions: 100_000,
  maxHistoryBytes: 64 * 1024 * 1024,
};

/** A revision that was the current one so many milliseconds before another moment. */
export interface RevisionSample {
  readonly agoMs: number;
  readonly revision: Revision;
}

export interface HistoryKeeperConfig extends HistoryLimits {
  readonly clock: Clock;
  readonly store: MvccStore;
  readonly compact: (revision: Revision) => void;
  /** Which revisions of the store were current when. Default: none is known. */
  readonly samples?: readonly RevisionSample[];
}

/** How far above a limit the history may grow before it is cut back: not every write shall compact. */
const SLACK = 1.125;

export class HistoryKeeper {
  readonly #config: HistoryKeeperConfig;
  /** When which revision was the current one; in order. What was current when no sample was taken is younger than the next. */
  #samples: { readonly at: number; readonly revision: Revision }[] = [];
  /** Runs exactly while there is history, until stopped. */
  #timer: Timer | undefined;
  #stopped = false;

  constructor(config: HistoryKeeperConfig) {
    this.#config = config;
    const now = config.clock.monotonic();
    this.#samples = (config.samples ?? []).map(({ agoMs, revision }) => ({
      at: now - agoMs,
      revision,
    }));
  }

  /** Returns what is known of the age of revisions, for a keeper of a copy of the store. */
  samples(): RevisionSample[] {
    const now = this.#config.clock.monotonic();
    return this.#samples.map(({ at, revision }) => ({ agoMs: now - at, revision }));
  }

  /** Call after each write (or batch of writes) is in the store. */
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

  /** Nothing is compacted any more. */
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
