// How many seats a priority level could use, over time: executing and waiting requests.

export interface DemandSummary {
  readonly average: number;
  readonly deviation: number;
  /** The highest demand. */
  readonly peak: number;
}

/** The weight of the past in the smoothed demand: it has a half-life of 30 periods. */
const SMOOTHING = 0.977;

export class SeatDemand {
  /** The sums of demand, and of its square, times ms. */
  #sum = 0;
  #squares = 0;
  #elapsed = 0;
  #current = 0;
  #peak = 0;
  #changedAt: number;
  #last: DemandSummary = { average: 0, deviation: 0, peak: 0 };
  #smoothed = 0;

  /** Creates a level without demand. `now`: monotonic ms, as in all functions. */
  constructor(now: number) {
    this.#changedAt = now;
  }

  /** The last complete period. */
  get last(): DemandSummary {
    return this.#last;
  }

  get smoothed(): number {
    return this.#smoothed;
  }

  /** Records that the demand has changed by `seats`. */
  add(seats: number, now: number): void {
    this.#integrate(now);
    this.#current += seats;
    if (this.#current > this.#peak) this.#peak = this.#current;
  }

  /** Ends the period, and begins the next one. */
  endPeriod(now: number): void {
    this.#integrate(now);
    const elapsed = this.#elapsed;
    const average = elapsed === 0 ? this.#current : this.#sum / elapsed;
    const variance = elapsed === 0 ? 0 : this.#squares / elapsed - average * average;
    const deviation = Math.sqrt(Math.max(0, variance));
    this.#last = { average, deviation, peak: this.#peak };
    const envelope = average + deviation;
    // A rising demand counts at once, a falling one slowly.
    this.#smoothed = Math.max(envelope, SMOOTHING * this.#smoothed + (1 - SMOOTHING) * envelope);
    this.#sum = 0;
    this.#squares = 0;
    this.#elapsed = 0;
    this.#peak = this.#current;
  }

  #integrate(now: number): void {
    const elapsed = now - this.#changedAt;
    this.#changedAt = now;
    if (elapsed <= 0) return;
    this.#elapsed += elapsed;
    this.#sum += this.#current * elapsed;
    this.#squares += this.#current * this.#current * elapsed;
  }
}
