// Decides when history is forgotten: revisions that are too old, and revisions beyond a limit of
// number or size.

import type { Clock, Timer } from '#machinery/clock.ts';
import { inNextTurn } from '#machinery/pending-work.ts';
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
  /**
   * The maximum number of revisions of history, of any age. A store with more than twice as many keys
   * may have half as many revisions as keys: its lists take longer, and a reader of pages, or a watch
   * that follows a list, needs the history since the list began.
   */
  readonly maxHistoryRevisions: number;
  /**
   * The maximum number of bytes of values that only history keeps, of any age. It grows with the
   * maximum of revisions.
   */
  readonly maxHistoryBytes: number;
}

type HistoryBounds = Pick<HistoryLimits, 'maxHistoryRevisions' | 'maxHistoryBytes'>;

export const DEFAULT_HISTORY_LIMITS: HistoryLimits = {
  historyMs: 5 * 60 * 1000,
  compactionIntervalMs: 60 * 1000,
  maxHistoryRevisions: 100_000,
  maxHistoryBytes: 64 * 1024 * 1024,
};

/** A revision that was current `agoMs` milliseconds before a moment, such as that of a fork. */
export interface RevisionSample {
  readonly agoMs: number;
  readonly revision: Revision;
}

export interface HistoryKeeperConfig extends HistoryLimits {
  readonly clock: Clock;
  readonly store: MvccStore;
  /**
   * Forgets the history before `revision`. What is before `expired` is too old to be read, however
   * much of it is still known.
   */
  readonly compact: (revision: Revision, expired: Revision) => void;
  /**
   * The number of revisions that one call of `compact` forgets at most; the next turns of the event
   * loop make the next calls. Default: no limit.
   */
  readonly revisionsPerTurn?: number;
  /** The ages of revisions of the store. Default: none is recorded. */
  readonly samples?: readonly RevisionSample[];
}

/**
 * The factor by which history may exceed a limit before it is cut back to it, so that not every
 * write compacts.
 */
const SLACK = 1.125;

/** A store with many keys may have a revision of history for so many of them. */
const KEYS_PER_REVISION = 2;

/** Returns the limits of the history of a store with this number of keys. */
export function historyLimits(
  { maxHistoryRevisions, maxHistoryBytes }: HistoryBounds,
  keys: number,
): HistoryBounds {
  const factor = Math.max(1, keys / KEYS_PER_REVISION / maxHistoryRevisions);
  return {
    maxHistoryRevisions: Math.floor(maxHistoryRevisions * factor),
    maxHistoryBytes: Math.floor(maxHistoryBytes * factor),
  };
}

export class HistoryKeeper {
  readonly #config: HistoryKeeperConfig;
  /**
   * Samples of the current revision with their times, in order. A revision between two samples
   * counts as young as the later one.
   */
  #samples: { readonly at: number; readonly revision: Revision }[] = [];
  /** Runs exactly while there is history, until stopped, unless there are beats. */
  #timer: Timer | undefined;
  #stopped = false;
  /** History up to this revision is being forgotten, or has been. */
  #goal: Revision = 0;
  /** History up to this revision is too old. */
  #expired: Revision = 0;
  #cancelStep: () => void = () => undefined;
  /** The time of the next tick, on the monotonic scale. Undefined while there is no history. */
  #nextTick: number | undefined;
  /**
   * Set while there are beats. The store catches up on them when the clock stops, and ticks are made
   * then, too (see `tickUpTo`).
   */
  #hasBeats = false;

  constructor(config: HistoryKeeperConfig) {
    this.#config = config;
    const now = config.clock.monotonic();
    this.#samples = (config.samples ?? []).map(({ agoMs, revision }) => ({
      at: now - agoMs,
      revision,
    }));
  }

  /** Returns the recorded ages of revisions, for a keeper of a copy of the store. */
  samples(): RevisionSample[] {
    const now = this.#config.clock.monotonic();
    return this.#samples.map(({ at, revision }) => ({ agoMs: now - at, revision }));
  }

  /** Checks the limits. Call it after each write (or batch of writes) is in the store. */
  written(): void {
    if (this.#stopped) return;
    const { store } = this.#config;
    const { maxHistoryRevisions, maxHistoryBytes } = historyLimits(this.#config, store.size);
    if (
      !this.#isCompacting &&
      (store.historyLength > maxHistoryRevisions * SLACK ||
        store.historyBytes > maxHistoryBytes * SLACK)
    ) {
      this.#compact(store.revisionKeeping(maxHistoryRevisions, maxHistoryBytes));
    }
    if (this.#nextTick === undefined && store.historyLength > 0) {
      const { clock, compactionIntervalMs } = this.#config;
      this.#nextTick = clock.monotonic() + compactionIntervalMs;
      this.#schedule();
    }
  }

  /** The time of the next tick, on the monotonic scale; infinite if there is no history. */
  get nextTick(): number {
    return this.#nextTick ?? Number.POSITIVE_INFINITY;
  }

  followBeats(hasBeats: boolean): void {
    if (this.#hasBeats === hasBeats || this.#stopped) return;
    this.#hasBeats = hasBeats;
    this.#schedule();
  }

  /** With beats: makes the ticks up to a time. All writes up to that time must be in the store. */
  tickUpTo(now: number): void {
    if (!this.#hasBeats) return;
    while (this.#nextTick !== undefined && this.#nextTick <= now) this.#tick(this.#nextTick);
  }

  /** With beats: returns the time before which the ticks up to `now` compact all history. */
  compactedBy(now: number): number {
    const { compactionIntervalMs, historyMs } = this.#config;
    if (this.#nextTick === undefined || this.#nextTick > now) return Number.NEGATIVE_INFINITY;
    const ticks = Math.floor((now - this.#nextTick) / compactionIntervalMs);
    // A sample is older than the history that is kept, by less than an interval.
    const kept = Math.ceil(historyMs / compactionIntervalMs);
    return ticks < kept
      ? Number.NEGATIVE_INFINITY
      : this.#nextTick + (ticks - kept) * compactionIntervalMs;
  }

  /** Records that ticks were skipped up to the one at `cut`, before which there is no history. */
  passedOver(cut: number): void {
    const { compactionIntervalMs, store } = this.#config;
    this.#samples = [{ at: cut, revision: store.revision }];
    this.#nextTick = cut + compactionIntervalMs;
  }

  #schedule(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#stopped || this.#hasBeats || this.#nextTick === undefined) return;
    const { clock, compactionIntervalMs } = this.#config;
    const delayMs = this.#nextTick - clock.monotonic();
    this.#timer =
      delayMs === compactionIntervalMs
        ? clock.setInterval(compactionIntervalMs, () => {
            this.#tick(clock.monotonic());
            if (this.#nextTick === undefined) this.#schedule();
          })
        : // Between two ticks of which the first was not by this timer.
          clock.setTimer(delayMs, () => {
            this.#tick(clock.monotonic());
            this.#schedule();
          });
  }

  /** Stops all compaction. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#cancelStep();
  }

  #tick(now: number): void {
    const { store, compact, historyMs, compactionIntervalMs } = this.#config;
    this.#nextTick = now + compactionIntervalMs;
    this.#samples.push({ at: now, revision: store.revision });
    const old = this.#samples.findLast((sample) => sample.at <= now - historyMs);
    if (old !== undefined) {
      this.#samples = this.#samples.slice(this.#samples.indexOf(old));
      this.#expired = old.revision;
      // Under some prefixes, revisions can still be read whose history is forgotten already.
      if (old.revision <= store.compactedRevision) compact(old.revision, old.revision);
      else this.#compact(old.revision);
    }
    if (store.historyLength > 0 || this.#hasBeats) return;
    this.#nextTick = undefined;
    this.#samples = [];
  }

  /** More revisions are forgotten in the next turns. */
  get #isCompacting(): boolean {
    return this.#goal > this.#config.store.compactedRevision;
  }

  #compact(revision: Revision): void {
    const isCompacting = this.#isCompacting;
    this.#goal = Math.max(this.#goal, revision);
    if (!isCompacting) this.#step();
  }

  #step(): void {
    if (!this.#isCompacting) return;
    const { store, compact, revisionsPerTurn = Number.POSITIVE_INFINITY } = this.#config;
    compact(Math.min(this.#goal, store.compactedRevision + revisionsPerTurn), this.#expired);
    if (this.#isCompacting) this.#cancelStep = inNextTurn(() => this.#step());
  }
}
