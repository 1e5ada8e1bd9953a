// The metrics of controllers that delete pods because of taints.

import { type Counter, type Histogram, Instruments } from '#machinery/metrics/instruments.ts';

const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240];

export class EvictionMetrics {
  readonly #deletions: Counter;
  readonly #latency: Histogram;

  /** `controller`: the beginning of the names. `help`: the meaning of the duration. */
  constructor(controller: string, help: string, instruments = new Instruments()) {
    const names = `${controller}_pod_deletion`;
    this.#deletions = instruments
      .counter({ name: `${names}s_total`, help: 'Pods deleted.' })
      .with();
    const duration = { name: `${names}_duration_seconds`, help };
    this.#latency = instruments.histogram(duration, BUCKETS_SECONDS).with();
  }

  /** Counts a pod that is deleted `lateMs` after it had to be. */
  deleted(lateMs: number): void {
    this.#deletions.value++;
    this.#latency.observe(lateMs / 1000);
  }
}
