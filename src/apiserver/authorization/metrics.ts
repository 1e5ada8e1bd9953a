// Metrics of authorization. The names are upstream's.

import {
  Counter,
  counterText,
  Family,
  Histogram,
  histogramText,
} from '#machinery/metrics/instruments.ts';
import type { ReviewAttempt } from '../webhooks/review/index.ts';

const PREFIX = 'apiserver_authorization';
const CONDITION_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
/** Prometheus' default. */
const CALL_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const WEBHOOK = 'Webhook';

const counters = (name: string, help: string, labels: readonly string[]): Family<Counter> =>
  new Family({ name: `${PREFIX}_${name}`, help, labels }, () => new Counter());

export class AuthorizationMetrics {
  readonly #decisions = counters(
    'decisions_total',
    'Terminal decisions of authorizers, by type, name and decision.',
    ['type', 'name', 'decision'],
  );
  readonly #conditionErrors = counters(
    'match_condition_evaluation_errors_total',
    'Requests for which a match condition of an authorization webhook failed.',
    ['type', 'name'],
  );
  readonly #exclusions = counters(
    'match_condition_exclusions_total',
    'Requests for which an authorization webhook was skipped by its match conditions.',
    ['type', 'name'],
  );
  readonly #conditionSeconds = new Family(
    {
      name: `${PREFIX}_match_condition_evaluation_seconds`,
      help: 'Time of the evaluation of match conditions, in seconds.',
      labels: ['type', 'name'],
    },
    () => new Histogram(CONDITION_BOUNDS),
  );
  readonly #calls = counters(
    'webhook_evaluations_total',
    'Round-trips to authorization webhooks.',
    ['name', 'result'],
  );
  readonly #callSeconds = new Family(
    {
      name: `${PREFIX}_webhook_duration_seconds`,
      help: 'Request latency in seconds.',
      labels: ['name', 'result'],
    },
    () => new Histogram(CALL_BOUNDS),
  );
  readonly #failOpen = counters(
    'webhook_evaluations_fail_open_total',
    'NoOpinion results due to webhook timeout or error.',
    ['name', 'result'],
  );

  decided(type: string, name: string, decision: 'allowed' | 'denied'): void {
    this.#decisions.with(type, name, decision).value++;
  }

  conditionsEvaluated(name: string, durationMs: number): void {
    this.#conditionSeconds.with(WEBHOOK, name).observe(durationMs / 1000);
  }

  conditionsFailed(name: string): void {
    this.#conditionErrors.with(WEBHOOK, name).value++;
  }

  excluded(name: string): void {
    this.#exclusions.with(WEBHOOK, name).value++;
  }

  called(name: string, { result, durationMs }: ReviewAttempt): void {
    this.#calls.with(name, result).value++;
    this.#callSeconds.with(name, result).observe(durationMs / 1000);
  }

  failedOpen(name: string, result: ReviewAttempt['result']): void {
    this.#failOpen.with(name, result).value++;
  }

  text(): string {
    const families = [
      this.#decisions,
      this.#conditionErrors,
      this.#exclusions,
      this.#calls,
      this.#failOpen,
    ].map(counterText);
    return [
      ...families,
      histogramText(this.#conditionSeconds),
      histogramText(this.#callSeconds),
    ].join('');
  }
}
