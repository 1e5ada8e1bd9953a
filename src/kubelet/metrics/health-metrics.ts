// /metrics/slis: the results of the health checks, from which service level indicators are computed.

import { Counter, counterText, Family, gaugeText, type Sample } from '../../machinery/instruments.ts';

export class HealthMetrics {
  readonly #checks = new Family(
    { name: 'kubernetes_healthchecks_total', help: 'Results of health checks.', labels: ['name', 'status', 'type'] },
    () => new Counter(),
  );

  succeeded(check: string): void {
    this.#checks.with(check, 'success', 'healthz').value++;
  }

  text(): string {
    const samples = Array.from(this.#checks.entries(), ({ values: [name = ''] }): Sample => [[name, 'healthz'], 1]);
    if (samples.length === 0) return '';
    const description = {
      name: 'kubernetes_healthcheck',
      help: 'The last result of a health check: 1 is success.',
      labels: ['name', 'type'],
    };
    return gaugeText(description, samples) + counterText(this.#checks);
  }
}
