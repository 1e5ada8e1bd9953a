// Metrics of the encryption and decryption of values, under upstream's names.

import type { Clock } from '#machinery/clock.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { exponentialBuckets, Instruments } from '#machinery/metrics/instruments.ts';
import type { GroupResource } from './config.ts';

const PREFIX = 'apiserver_storage_transformation';

export interface Transformation {
  /** Decryption, or encryption. */
  readonly type: 'from_storage' | 'to_storage';
  /** The beginning of the stored value; 'identity' for a value that is not encrypted. */
  readonly prefix: string;
  /** When it began, on the monotonic clock. */
  readonly beganMs: number;
  /** Absent: it succeeded. */
  readonly error?: unknown;
}

export class TransformationMetrics {
  readonly #clock: Clock;
  readonly #instruments = new Instruments();
  readonly #operations = this.#instruments.counter({
    name: `${PREFIX}_operations_total`,
    help: 'Encryptions and decryptions of stored values, by resource, provider and outcome.',
    labels: ['resource', 'transformation_type', 'transformer_prefix', 'status'],
  });
  readonly #durations = this.#instruments.histogram(
    {
      name: `${PREFIX}_duration_seconds`,
      help: 'Seconds that encryptions and decryptions of stored values took.',
      labels: ['transformation_type', 'transformer_prefix'],
    },
    exponentialBuckets(5e-6, 2, 25),
  );

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The time now, for `beganMs`. */
  now(): number {
    return this.#clock.monotonic();
  }

  record(
    { group, resource }: GroupResource,
    { type, prefix, beganMs, error }: Transformation,
  ): void {
    const name = group === '' ? resource : `${resource}.${group}`;
    this.#operations.with(name, type, prefix, statusOf(error)).value++;
    if (error === undefined)
      this.#durations.with(type, prefix).observe((this.now() - beganMs) / 1000);
  }

  /** Returns the metrics in Prometheus' text format. */
  text(): string {
    return this.#instruments.text();
  }
}

/** Returns the code of a plugin's error as the metrics have it; OK without one. */
function statusOf(error: unknown): string {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof RpcError) return each.goName;
  return error === undefined ? 'OK' : 'unknown-non-grpc';
}
