// Measures how long CSI drivers take to attach and detach volumes, counted from the request to the
// driver. The metrics have upstream's names.

import type { Clock } from '#machinery/clock.ts';
import type { Family, Histogram, Instruments } from '#machinery/metrics/instruments.ts';

const BUCKETS_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

type Operation = 'volume_attach' | 'volume_detach';

export interface OperatedVolume {
  /** The full name of the plugin that attaches the volume. */
  readonly plugin: string;
  /** The volume is of an in-tree plugin that a driver has replaced. */
  readonly isMigrated: boolean;
}

export class OperationTimes {
  readonly #clock: Clock;
  readonly #durations: Family<Histogram>;
  /** By operation and attachment: the start time, on the clock's monotonic scale. */
  readonly #begun = new Map<string, number>();

  constructor(instruments: Instruments, clock: Clock) {
    this.#clock = clock;
    this.#durations = instruments.histogram(
      {
        name: 'storage_operation_duration_seconds',
        help: 'How long attaching or detaching a volume took.',
        labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
      },
      BUCKETS_SECONDS,
    );
  }

  /** Notes the start of an operation. `attachment`: the attachment's UID. */
  begin(operation: Operation, attachment: string): void {
    this.#begun.set(`${operation} ${attachment}`, this.#clock.monotonic());
  }

  /**
   * Records the duration of an operation. Operations that began before this controller are not
   * measured. A failed operation stays in flight, since the driver retries it.
   */
  end(
    operation: Operation,
    attachment: string,
    { plugin, isMigrated }: OperatedVolume,
    succeeded: boolean,
  ): void {
    const key = `${operation} ${attachment}`;
    const begun = this.#begun.get(key);
    if (begun === undefined) return;
    if (succeeded) this.#begun.delete(key);
    else this.begin(operation, attachment);
    const seconds = (this.#clock.monotonic() - begun) / 1000;
    this.#durations
      .with(plugin, operation, succeeded ? 'success' : 'fail-unknown', String(isMigrated))
      .observe(seconds);
  }

  forget(attachment: string): void {
    for (const operation of ['volume_attach', 'volume_detach'])
      this.#begun.delete(`${operation} ${attachment}`);
  }
}
