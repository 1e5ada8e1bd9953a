// Metrics about created claims and binding conditions, with the names of kube-scheduler.

import {
  type Counter,
  exponentialBuckets,
  type Family,
  type Histogram,
  Instruments,
} from '#machinery/metrics/instruments.ts';
import type { ResourceClaim } from './objects.ts';

/** The outcome of waiting for devices. */
export type BindingOutcome = 'success' | 'failure' | 'timeout' | 'error';

const LABELS = ['profile', 'driver', 'status'];

export class DeviceMetrics {
  readonly #claims: Family<Counter>;
  readonly #allocations: Family<Counter>;
  readonly #waits: Family<Histogram>;

  constructor(instruments = new Instruments()) {
    this.#claims = instruments.counter({
      name: 'scheduler_resourceclaim_creates_total',
      help: 'Claims that were to be made for extended resources.',
      labels: ['status'],
    });
    this.#allocations = instruments.counter({
      name: 'scheduler_dra_bindingconditions_allocations_total',
      help: 'Devices that were to be made ready for a pod.',
      labels: LABELS,
    });
    const help = 'How long pods waited until their devices were made ready.';
    const waits = {
      name: 'scheduler_dra_bindingconditions_wait_duration_seconds',
      help,
      labels: LABELS,
    };
    this.#waits = instruments.histogram(waits, exponentialBuckets(0.1, 2, 14));
  }

  claimMade(status: 'success' | 'failure'): void {
    this.#claims.with(status).value++;
  }

  /** Records a wait. `claims`: all claims of the pod; each of their devices counts. */
  waited(
    profile: string,
    claims: readonly ResourceClaim[],
    outcome: BindingOutcome,
    seconds: number,
  ): void {
    for (const { status } of claims) {
      for (const { driver, bindingConditions = [] } of status.allocation?.devices.results ?? []) {
        this.#waits.with(profile, driver, outcome).observe(seconds);
        if (bindingConditions.length > 0) this.#allocations.with(profile, driver, outcome).value++;
      }
    }
  }
}
