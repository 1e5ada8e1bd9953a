// Decides which processes give up connections because others have less to do. The kernel gives each
// process about as many connections as the others, but connections differ, and the main process also
// makes the writes of all.

/** The number of periods (scaling.ts) that a decision looks at, and until the next one. */
const PERIODS = 5;
/** A process with less to do serves what it has. */
const BUSY_SHARE = 0.7;
/** The mean of all is so much less: the difference is not worth new connections otherwise. */
const DIFFERENCE = 0.2;

export class Balance {
  #sums: number[] = [];
  #periods = 0;

  /**
   * Records how busy each process was in a period, from 0 to 1, always in the same order. Returns for
   * each the share of its connections that it should give up now, from 0 to 1.
   */
  next(loads: readonly number[]): readonly number[] {
    const none = loads.map(() => 0);
    if (loads.length !== this.#sums.length) {
      this.#sums = none;
      this.#periods = 0;
    }
    this.#sums = this.#sums.map((sum, at) => sum + loads[at]!);
    if (++this.#periods < PERIODS) return none;
    const means = this.#sums.map((sum) => sum / PERIODS);
    this.#sums = none;
    this.#periods = 0;
    const ofAll = means.reduce((sum, mean) => sum + mean, 0) / means.length;
    return means.map((mean) =>
      mean > BUSY_SHARE && mean - ofAll > DIFFERENCE ? (mean - ofAll) / mean : 0,
    );
  }
}
