// Counts latencies in steps of 0.5 ms, so that millions of them take no memory.

const STEP_MS = 0.5;
const STEPS = 240_000;

export class LatencyHistogram {
  readonly #counts = new Uint32Array(STEPS);
  count = 0;

  add(ms: number): void {
    const step = Math.min(STEPS - 1, Math.max(0, Math.floor(ms / STEP_MS)));
    this.#counts[step]!++;
    this.count++;
  }

  /** Returns the upper end of the step that has the p-quantile, in ms. */
  quantile(p: number): number {
    let left = Math.max(1, Math.ceil(p * this.count));
    for (let step = 0; step < STEPS; step++) {
      left -= this.#counts[step]!;
      if (left <= 0) return (step + 1) * STEP_MS;
    }
    return Number.NaN;
  }
}
