// Metrics of a signer, under upstream's names (pkg/serviceaccount/externaljwt/metrics).

import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { type Description, Instruments } from '#machinery/metrics/instruments.ts';

const PREFIX = 'apiserver_externaljwt';
const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Returns the code of an error as the metrics have it; OK without one. */
export function codeOf(error: unknown): string {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof RpcError) return each.goName;
  return error === undefined ? 'OK' : 'unknown-non-grpc';
}

export class SignerMetrics {
  readonly #instruments = new Instruments();
  readonly #fetches = this.#counter('fetch_keys_request_total', 'Requests for the public keys.');
  readonly #signatures = this.#counter('sign_request_total', 'Requests for signatures.');
  readonly #durations = this.#instruments.histogram(
    {
      name: `${PREFIX}_request_duration_seconds`,
      help: 'Seconds that calls of the signer took.',
      labels: ['method', 'code'],
    },
    DURATION_BUCKETS,
  );

  #counter(name: string, help: string): ReturnType<Instruments['counter']> {
    return this.#instruments.counter({ name: `${PREFIX}_${name}`, help, labels: ['code'] });
  }

  called(method: string, error: unknown, ms: number): void {
    this.#durations.with(`/v1.ExternalJWTSigner/${method}`, codeOf(error)).observe(ms / 1000);
  }

  signed(error?: unknown): void {
    this.#signatures.with(codeOf(error)).value++;
  }

  fetchFailed(error: unknown): void {
    this.#fetches.with(codeOf(error)).value++;
  }

  /** `readAtSeconds`: when the signer has read the keys. */
  fetched(nowMs: number, readAtSeconds: number): void {
    this.#fetches.with(codeOf(undefined)).value++;
    const gauge = (name: string, help: string, value: number): void => {
      const description: Description = { name: `${PREFIX}_${name}`, help };
      this.#instruments.gauge(description, () => [[[], value]]);
    };
    gauge(
      'fetch_keys_success_timestamp',
      'When the public keys were last received, in seconds since the epoch.',
      nowMs / 1000,
    );
    gauge(
      'fetch_keys_data_timestamp',
      'When the signer has read the public keys, in seconds since the epoch.',
      readAtSeconds,
    );
  }

  /** Returns the metrics in Prometheus' text format. */
  text(): string {
    return this.#instruments.text();
  }
}
