// The results of health checks as metrics, for /metrics/slis.

import { Counter, counterText, Family, gaugeText, type Sample } from '../metrics/instruments.ts';

export class HealthSlis {
  readonly #results = new Map<string, Sample>();
  readonly #totals = new Family(
    {
      name: 'kubernetes_healthchecks_total',
      help: '[STABLE] Results of health checks.',
      labels: ['name', 'status', 'type'],
    },
    () => new Counter(),
  );

  /** Records a result. `type`: 'healthz', 'livez' or 'readyz'. */
  observe(name: string, type: string, passed: boolean): void {
    this.#results.set(`${type} ${name}`, [[name, type], passed ? 1 : 0]);
    this.#totals.with(name, passed ? 'success' : 'error', type).value++;
  }

  /** True until a result is recorded. */
  get isEmpty(): boolean {
    return this.#results.size === 0;
  }

  /**
   * Returns the metrics in Prometheus' text form. Checks that were never requested have no samples.
   */
  text(): string {
    const samples = [...this.#results.values()];
    if (samples.length === 0) return '';
    const description = {
      name: 'kubernetes_healthcheck',
      help: '[STABLE] Whether the health check passed when it was last asked for.',
      labels: ['name', 'type'],
    };
    return gaugeText(description, samples) + counterText(this.#totals);
  }
}
