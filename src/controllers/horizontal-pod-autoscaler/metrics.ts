// Metrics of the autoscaler, with upstream's names.

import type { HorizontalPodAutoscaler } from '#api/groups/autoscaling/v2/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type Counter,
  exponentialBuckets,
  type Family,
  type Histogram,
  type Instruments,
} from '#machinery/metrics/instruments.ts';

export type ScaleAction = 'scale_up' | 'scale_down' | 'none';
/** The cause of a failure. */
export type Fault = 'spec' | 'internal' | 'none';

export class AutoscalerMetrics {
  readonly #looks: Family<Counter>;
  readonly #lookDurations: Family<Histogram>;
  readonly #computations: Family<Counter>;
  readonly #computationDurations: Family<Histogram>;

  constructor(
    instruments: Instruments,
    known: () => readonly Immutable<HorizontalPodAutoscaler>[],
  ) {
    const description = (name: string, help: string, ...labels: readonly string[]) => ({
      name: `horizontal_pod_autoscaler_controller_${name}`,
      help,
      labels,
    });
    const bounds = exponentialBuckets(0.001, 2, 15);
    const labels = ['action', 'error'];
    this.#looks = instruments.counter(
      description('reconciliations_total', 'Looks at an autoscaler.', ...labels),
    );
    this.#lookDurations = instruments.histogram(
      description(
        'reconciliation_duration_seconds',
        'How long a look at an autoscaler took.',
        ...labels,
      ),
      bounds,
    );
    labels.push('metric_type');
    this.#computations = instruments.counter(
      description('metric_computation_total', 'Looks at a metric.', ...labels),
    );
    this.#computationDurations = instruments.histogram(
      description(
        'metric_computation_duration_seconds',
        'How long a look at a metric took.',
        ...labels,
      ),
      bounds,
    );
    instruments.gauge(description('num_horizontal_pod_autoscalers', 'Autoscalers.'), () => [
      [[], known().length],
    ]);
    instruments.gauge(
      description(
        'desired_replicas',
        'How many pods an autoscaler wants.',
        'namespace',
        'hpa_name',
      ),
      () =>
        known().map(({ metadata, status }) => [
          [metadata.namespace ?? '', metadata.name],
          status.desiredReplicas,
        ]),
    );
  }

  looked(action: ScaleAction, fault: Fault, seconds: number): void {
    this.#looks.with(action, fault).value++;
    this.#lookDurations.with(action, fault).observe(seconds);
  }

  computed(action: ScaleAction, fault: Fault, metricType: string, seconds: number): void {
    this.#computations.with(action, fault, metricType).value++;
    this.#computationDurations.with(action, fault, metricType).observe(seconds);
  }
}

export function actionOf(current: number, wanted: number): ScaleAction {
  if (wanted === current) return 'none';
  return wanted > current ? 'scale_up' : 'scale_down';
}
