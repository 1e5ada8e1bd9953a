// The states of objects that were renewed together (../renewals): a watcher whose own process has
// made these renewals, and knows them, may leave out their events.

import type { KeyValue, Revision } from '#storage/interface.ts';

/** Reports whether the state was written by such a renewal, not too long ago. */
export interface RenewedStates {
  has(state: KeyValue): boolean;
}

/** Revisions of renewals that were made together, one after the other. */
interface Range {
  readonly first: Revision;
  readonly last: Revision;
}

/** With 500 Leases in each, more renewals than watchers get behind. */
const MAX_RANGES = 1024;

export class RenewalRecord implements RenewedStates {
  /** In order of revision. */
  #ranges: Range[] = [];

  /**
   * Records renewals whose writes may be pending: their events may come before their results. They
   * must be later than those before. Returns a function that takes it back, if they were not made:
   * then other writes get these revisions.
   */
  add(first: Revision, last: Revision): () => void {
    const range = { first, last };
    this.#ranges.push(range);
    if (this.#ranges.length > 2 * MAX_RANGES) this.#ranges = this.#ranges.slice(-MAX_RANGES);
    return () => {
      this.#ranges = this.#ranges.filter((each) => each !== range);
    };
  }

  has({ modRevision }: KeyValue): boolean {
    const range = this.#ranges.findLast(({ first }) => first <= modRevision);
    return range !== undefined && modRevision <= range.last;
  }
}
