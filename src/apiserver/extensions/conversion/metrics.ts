// Metrics of conversions by webhooks, under upstream's names.

import type { Clock } from '#machinery/clock.ts';
import {
  type Counter,
  exponentialBuckets,
  type Family,
  type Histogram,
  Instruments,
} from '#machinery/metrics/instruments.ts';

/** The step at which a conversion failed. */
export type FailureType =
  | 'conversion_webhook_call_failure'
  | 'conversion_webhook_malformed_response_failure'
  | 'conversion_webhook_partial_response_failure'
  | 'conversion_webhook_invalid_converted_object_failure';

/** The type of failure; '' for a success. */
type Outcome = FailureType | '';

const CALL_BUCKETS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60];

export class ConversionMetrics {
  readonly #clock: Clock;
  readonly #instruments = new Instruments();
  readonly #requests: Family<Counter>;
  readonly #durations: Family<Histogram>;
  readonly #conversions: Family<Histogram>;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
    const labels = ['result', 'failure_type'];
    this.#requests = this.#instruments.counter({
      name: 'apiserver_conversion_webhook_request_total',
      help: 'Requests to conversion webhooks, by result and by how far those came that failed.',
      labels,
    });
    this.#durations = this.#instruments.histogram(
      {
        name: 'apiserver_conversion_webhook_duration_seconds',
        help: 'Seconds that requests to conversion webhooks took.',
        labels,
      },
      CALL_BUCKETS,
    );
    this.#conversions = this.#instruments.histogram(
      {
        name: 'apiserver_crd_conversion_webhook_duration_seconds',
        help: 'Seconds that conversions by webhook took, by definition and versions.',
        labels: ['crd_name', 'from_version', 'to_version', 'succeeded'],
      },
      exponentialBuckets(0.001, 2, 15),
    );
  }

  now(): number {
    return this.#clock.monotonic();
  }

  /** Records one request to a webhook. `since`: an earlier value of `now`. */
  requested(since: number, outcome: Outcome): void {
    const labels = [outcome === '' ? 'success' : 'failure', outcome];
    this.#requests.with(...labels).value++;
    this.#durations.with(...labels).observe(this.#secondsSince(since));
  }

  /** Records the conversion of one or several objects of a definition. */
  converted(since: number, definition: string, from: string, to: string, succeeded: boolean): void {
    this.#conversions
      .with(definition, from, to, String(succeeded))
      .observe(this.#secondsSince(since));
  }

  text(): string {
    return this.#instruments.text();
  }

  #secondsSince(since: number): number {
    return (this.now() - since) / 1000;
  }
}
