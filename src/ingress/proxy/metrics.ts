// Metrics of the proxy.

import {
  Counter,
  counterText,
  exponentialBuckets,
  Family,
  gaugeText,
  Histogram,
  histogramText,
} from '#machinery/metrics/instruments.ts';
import type { BackError } from './back.ts';

const counters = (name: string, help: string, ...labels: readonly string[]): Family<Counter> =>
  new Family({ name: `coxswain_ingress_${name}`, help, labels }, () => new Counter());

export class IngressMetrics {
  readonly #requests = counters('requests_total', 'Requests of clients.', 'code', 'protocol');
  readonly #duration = new Family(
    {
      name: 'coxswain_ingress_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer.',
      labels: ['protocol'],
    },
    () => new Histogram(exponentialBuckets(0.0005, 2, 16)),
  );
  readonly #backFailures = counters(
    'backend_failures_total',
    'Attempts that got no answer of a back end.',
    'reason',
  );
  readonly #retries = counters('backend_retries_total', 'Attempts after one that failed.');
  readonly #handshakes = counters('tls_handshake_failures_total', 'TLS handshakes that failed.');
  readonly #malformed = counters(
    'malformed_requests_total',
    'Requests that are no HTTP, or exceed a limit.',
  );
  readonly #mirrored = counters('mirrored_requests_total', 'Copies of requests for RequestMirror.');
  readonly #configurations = counters('configurations_total', 'Configurations that were applied.');
  #connections = 0;
  #upgraded = 0;

  requestEnded(code: number, protocol: string, seconds: number): void {
    this.#requests.with(String(code), protocol).value++;
    this.#duration.with(protocol).observe(seconds);
  }

  backFailed(reason: BackError['reason']): void {
    this.#backFailures.with(reason).value++;
  }

  retried(): void {
    this.#retries.with().value++;
  }

  handshakeFailed(): void {
    this.#handshakes.with().value++;
  }

  malformed(): void {
    this.#malformed.with().value++;
  }

  mirrored(): void {
    this.#mirrored.with().value++;
  }

  configured(): void {
    this.#configurations.with().value++;
  }

  connectionsChanged(by: 1 | -1): void {
    this.#connections += by;
  }

  upgradedChanged(by: 1 | -1): void {
    this.#upgraded += by;
  }

  /** Returns the metrics in Prometheus' text format. */
  text(): string {
    const gauge = (name: string, help: string, value: number): string =>
      gaugeText({ name: `coxswain_ingress_${name}`, help }, [[[], value]]);
    return [
      counterText(this.#requests),
      histogramText(this.#duration),
      counterText(this.#backFailures),
      counterText(this.#retries),
      counterText(this.#handshakes),
      counterText(this.#malformed),
      counterText(this.#mirrored),
      counterText(this.#configurations),
      gauge('connections', 'Connections of clients.', this.#connections),
      gauge(
        'upgraded_connections',
        'Connections that have switched to another protocol.',
        this.#upgraded,
      ),
    ].join('');
  }
}
