// Measures provisioning and deletion of volumes, by this program or an external provisioner: from
// when the binder requests it until it is done. The metrics have upstream's names.

import type { Clock } from '#machinery/clock.ts';
import type { Counter, Family, Histogram, Instruments } from '#machinery/metrics/instruments.ts';

const BUCKETS_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];
const LABELS = ['plugin_name', 'operation_name'];

interface Operation {
  readonly labels: readonly [plugin: string, operation: 'provision' | 'delete'];
  /** The start time, on the clock's monotonic scale. */
  readonly since: number;
}

export class OperationTimes {
  readonly #clock: Clock;
  readonly #durations: Family<Histogram>;
  readonly #errors: readonly Family<Counter>[];
  /** By the claim's key or the volume's name; names of volumes have no slash. */
  readonly #running = new Map<string, Operation>();

  constructor(instruments: Instruments, clock: Clock) {
    this.#clock = clock;
    const help = 'How long it took to make or delete a volume, from when it was asked for.';
    const durations = { name: 'volume_operation_total_seconds', help, labels: LABELS };
    this.#durations = instruments.histogram(durations, BUCKETS_SECONDS);
    // The first is the former name of the metric.
    this.#errors = ['volume_operation_total_errors', 'volume_operation_errors_total'].map((name) =>
      instruments.counter({
        name,
        help: 'How often making or deleting a volume failed.',
        labels: LABELS,
      }),
    );
  }

  /** Begins an operation, or continues one in flight. `plugin`: the provisioner. */
  begin(key: string, plugin: string, operation: 'provision' | 'delete'): void {
    if (!this.#running.has(key))
      this.#running.set(key, { labels: [plugin, operation], since: this.#clock.monotonic() });
  }

  /** Counts a failure. The operation stays in flight, since it is retried. */
  failed(key: string): void {
    const running = this.#running.get(key);
    if (running !== undefined)
      for (const errors of this.#errors) errors.with(...running.labels).value++;
  }

  done(key: string): void {
    const running = this.#running.get(key);
    if (running === undefined) return;
    this.#running.delete(key);
    this.#durations
      .with(...running.labels)
      .observe((this.#clock.monotonic() - running.since) / 1000);
  }

  /** Drops the operation of a deleted claim. */
  forget(key: string): void {
    this.#running.delete(key);
  }
}
