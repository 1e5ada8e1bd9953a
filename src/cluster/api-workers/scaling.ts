// Decides how many workers run, from how busy the event loops are.
//
// One more starts when the main process was busy for most of a few seconds. All end after a quiet
// minute: a worker costs memory, and what the main process pays for each write.

export interface ScalingLimits {
  /** So many run always. */
  readonly min: number;
  readonly max: number;
}

/** The loads of one period. */
export interface LoadSample {
  /** How busy the main process was, from 0 to 1. */
  readonly main: number;
  /** The same of each worker that serves. */
  readonly workers: readonly number[];
}

/** The length of a period. */
export const SAMPLE_MS = 1000;
const BUSY_SHARE = 0.6;
const BUSY_PERIODS = 5;
/** All processes together: what one of them can do alone. */
const QUIET_SHARE = 0.3;
const QUIET_PERIODS = 60;

export class Scaling {
  readonly #limits: ScalingLimits;
  #wanted: number;
  /** The sum and the number of samples of the main process since the last decision. */
  #busy: number[] = [];
  #quietPeriods = 0;

  constructor(limits: ScalingLimits) {
    this.#limits = limits;
    this.#wanted = limits.min;
  }

  get wanted(): number {
    return this.#wanted;
  }

  /** Records the loads of a period, and returns how many workers should run. */
  next({ main, workers }: LoadSample): number {
    const { min, max } = this.#limits;
    const total = workers.reduce((sum, load) => sum + load, main);
    this.#quietPeriods = total < QUIET_SHARE ? this.#quietPeriods + 1 : 0;
    if (this.#quietPeriods >= QUIET_PERIODS) {
      this.#quietPeriods = 0;
      this.#wanted = min;
    }
    this.#busy.push(main);
    if (this.#busy.length < BUSY_PERIODS) return this.#wanted;
    const mean = this.#busy.reduce((sum, load) => sum + load, 0) / this.#busy.length;
    this.#busy.shift();
    // A worker that does not serve yet has to be waited for.
    if (mean > BUSY_SHARE && this.#wanted < max && workers.length >= this.#wanted) {
      this.#wanted++;
      this.#busy = [];
    }
    return this.#wanted;
  }
}
