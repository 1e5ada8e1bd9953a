// Metrics of the compilation and evaluation of CEL expressions, in policies and in validation rules
// of custom resources. The names are upstream's.

import type { RuleTimes } from '#api/machinery/codec/structural/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { Family, Histogram, histogramText } from '#machinery/metrics/instruments.ts';

/** Prometheus' default buckets, in seconds, as upstream. */
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class CelMetrics implements RuleTimes {
  readonly #clock: Clock;
  readonly #compilation = durations(
    'compilation',
    'Seconds that compiling the expressions of a policy, or the rules of a node of a schema, took.',
  );
  readonly #evaluation = durations(
    'evaluation',
    'Seconds that evaluating an expression of a policy, or the rules of a value, took.',
  );

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  compile<T>(work: () => T): T {
    const start = this.now();
    const result = work();
    this.compiled(start);
    return result;
  }

  async evaluate<T>(work: () => Promise<T>): Promise<T> {
    const start = this.now();
    const result = await work();
    this.evaluated(start);
    return result;
  }

  now(): number {
    return this.#clock.monotonic();
  }

  compiled(since: number): void {
    this.#compilation.with().observe((this.now() - since) / 1000);
  }

  evaluated(since: number): void {
    this.#evaluation.with().observe((this.now() - since) / 1000);
  }

  text(): string {
    return histogramText(this.#compilation) + histogramText(this.#evaluation);
  }
}

function durations(what: string, help: string): Family<Histogram> {
  const family = new Family(
    { name: `apiserver_cel_${what}_duration_seconds`, help },
    () => new Histogram(BUCKETS_SECONDS),
  );
  // The series without labels exist from the start, as upstream's.
  family.with();
  return family;
}
