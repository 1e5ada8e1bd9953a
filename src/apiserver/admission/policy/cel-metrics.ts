// How long expressions of policies take to compile and to evaluate, under upstream's names.

import type { Clock } from '#machinery/clock.ts';
import { Family, Histogram, histogramText } from '#machinery/metrics/instruments.ts';

/** Prometheus' default buckets, which upstream uses here. */
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class CelMetrics {
  readonly #clock: Clock;
  readonly #compilation = durations('compilation', 'Seconds that compiling the expressions of a policy took.');
  readonly #evaluation = durations('evaluation', 'Seconds that evaluating an expression took.');

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  compile<T>(work: () => T): T {
    const start = this.#clock.monotonic();
    const result = work();
    this.#compilation.with().observe((this.#clock.monotonic() - start) / 1000);
    return result;
  }

  async evaluate<T>(work: () => Promise<T>): Promise<T> {
    const start = this.#clock.monotonic();
    const result = await work();
    this.#evaluation.with().observe((this.#clock.monotonic() - start) / 1000);
    return result;
  }

  text(): string {
    return histogramText(this.#compilation) + histogramText(this.#evaluation);
  }
}

function durations(what: string, help: string): Family<Histogram> {
  const family = new Family({ name: `apiserver_cel_${what}_duration_seconds`, help }, () => new Histogram(BUCKETS_SECONDS));
  // There from the beginning, as upstream's, which have no labels.
  family.with();
  return family;
}
