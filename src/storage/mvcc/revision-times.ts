// The time of each revision of the history: one entry for all writes of one millisecond.

import { ForkableLog } from '#machinery/collections/forkable-log.ts';
import type { Revision } from '../interface.ts';

interface Instant {
  /** The first revision that was written at this time. */
  readonly revision: Revision;
  /** Wall-clock milliseconds since the epoch. */
  readonly at: number;
}

export class RevisionTimes {
  /** In order of revision. */
  #instants = new ForkableLog<Instant>();
  #lastAt: number;

  constructor(revision: Revision, at: number) {
    this.#instants.push({ revision, at });
    this.#lastAt = at;
  }

  /** Records the time of the next revision. */
  written(revision: Revision, at: number): void {
    if (at === this.#lastAt) return;
    this.#lastAt = at;
    this.#instants.push({ revision, at });
  }

  /** Returns the time of the revision; undefined if it is not recorded. */
  timeOf(revision: Revision): number | undefined {
    // The number of instants that begin at the revision or before it.
    let low = 0;
    let high = this.#instants.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#instants.at(middle) as Instant).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#instants.at(low - 1)?.at;
  }

  /** Forgets the times before the revision. */
  compact(revision: Revision): void {
    let count = 0;
    while ((this.#instants.at(count + 1)?.revision ?? Number.POSITIVE_INFINITY) <= revision)
      count++;
    this.#instants.dropFirst(count);
  }

  fork(): RevisionTimes {
    const fork = new RevisionTimes(0, this.#lastAt);
    fork.#instants = this.#instants.fork();
    return fork;
  }
}
