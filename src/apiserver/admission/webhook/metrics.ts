// Metrics of webhook calls, their results and durations, under upstream's names.

import { Instruments } from '#machinery/metrics/instruments.ts';
import type { Operation } from '../plugin.ts';

/**
 * The type of a webhook. Upstream uses other names in the metrics of match conditions (see
 * `matchType`).
 */
export type WebhookType = 'admit' | 'validating';
export type RejectionError = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';

const CALL_BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
const MATCH_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
/** Higher codes are counted as this one, so that a webhook cannot create any number of series. */
const MAX_CODE = 600;

/** One call of a webhook. */
export interface ObservedCall {
  readonly name: string;
  readonly type: WebhookType;
  readonly operation: Operation;
  readonly seconds: number;
  /** 200, the status code of an error, or 0 for an error without one. */
  readonly code: number;
  readonly rejected: boolean;
  /**
   * The reason for the rejection. Absent: the request was not rejected, or its client has
   * disconnected.
   */
  readonly rejection?: RejectionError;
}

export class WebhookMetrics {
  readonly #instruments = new Instruments();
  readonly #durations = this.#instruments.histogram(
    {
      name: 'apiserver_admission_webhook_admission_duration_seconds',
      help: 'Seconds that a webhook took for a request.',
      labels: ['name', 'operation', 'rejected', 'type'],
    },
    CALL_BUCKETS_SECONDS,
  );
  readonly #requests = this.#instruments.counter({
    name: 'apiserver_admission_webhook_request_total',
    help: 'Calls of webhooks, by the status code of their outcome (at most 600).',
    labels: ['code', 'name', 'operation', 'rejected', 'type'],
  });
  readonly #rejections = this.#instruments.counter({
    name: 'apiserver_admission_webhook_rejection_count',
    help: 'Requests that were rejected because of a webhook, by the kind of error and the status code (at most 600).',
    labels: ['error_type', 'name', 'operation', 'rejection_code', 'type'],
  });
  readonly #failOpen = this.#instruments.counter({
    name: 'apiserver_admission_webhook_fail_open_count',
    help: 'Calls of webhooks that failed and whose failure was ignored.',
    labels: ['name', 'type'],
  });
  readonly #matchErrors = this.#instruments.counter({
    name: 'apiserver_admission_match_condition_evaluation_errors_total',
    help: 'Match conditions whose evaluation failed.',
    labels: ['kind', 'name', 'operation', 'type'],
  });
  readonly #exclusions = this.#instruments.counter({
    name: 'apiserver_admission_match_condition_exclusions_total',
    help: 'Requests that match conditions excluded.',
    labels: ['kind', 'name', 'operation', 'type'],
  });
  readonly #matchDurations = this.#instruments.histogram(
    {
      name: 'apiserver_admission_match_condition_evaluation_seconds',
      help: 'Seconds that the match conditions of a webhook took for a request.',
      labels: ['kind', 'name', 'operation', 'type'],
    },
    MATCH_BUCKETS_SECONDS,
  );

  observeCall({ name, type, operation, seconds, code, rejected, rejection }: ObservedCall): void {
    const shown = String(Math.min(code, MAX_CODE));
    this.#durations.with(name, operation, String(rejected), type).observe(seconds);
    this.#requests.with(shown, name, operation, String(rejected), type).value++;
    if (rejection !== undefined)
      this.#rejections.with(rejection, name, operation, shown, type).value++;
  }

  observeFailOpen(name: string, type: WebhookType): void {
    this.#failOpen.with(name, type).value++;
  }

  observeMatch(
    name: string,
    type: WebhookType,
    operation: Operation,
    seconds: number,
    errors: number,
  ): void {
    this.#matchDurations.with('webhook', name, operation, type).observe(seconds);
    if (errors > 0) this.#matchErrors.with('webhook', name, operation, type).value += errors;
  }

  observeExclusion(name: string, type: WebhookType, operation: Operation): void {
    this.#exclusions.with('webhook', name, operation, type === 'admit' ? 'admit' : 'validate')
      .value++;
  }

  text(): string {
    return this.#instruments.text();
  }
}
