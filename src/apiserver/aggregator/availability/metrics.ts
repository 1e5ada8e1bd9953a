// Metrics of unavailable APIServices, under Kubernetes' names.

import { type Counter, type Family, Instruments } from '#machinery/metrics/instruments.ts';

export class AvailabilityMetrics {
  readonly #instruments = new Instruments();
  /** Whether each APIService was available at its last check, by name. */
  readonly #available = new Map<string, boolean>();
  readonly #unavailable: Family<Counter>;

  constructor() {
    this.#unavailable = this.#instruments.counter({
      name: 'aggregator_unavailable_apiservice_total',
      help: 'How often APIServices became unavailable, by name and reason.',
      labels: ['name', 'reason'],
    });
    this.#instruments.gauge(
      {
        name: 'aggregator_unavailable_apiservice',
        help: '1 for an APIService that is unavailable, 0 for others.',
        labels: ['name'],
      },
      () =>
        [...this.#available]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, available]) => [[name], available ? 0 : 1]),
    );
  }

  checked(name: string, available: boolean): void {
    this.#available.set(name, available);
  }

  becameUnavailable(name: string, reason: string): void {
    this.#unavailable.with(name, reason).value++;
  }

  forget(name: string): void {
    this.#available.delete(name);
  }

  text(): string {
    return this.#instruments.text();
  }
}
