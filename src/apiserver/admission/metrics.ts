// Metrics of the duration of admission, for each plugin and for each step as a whole. The names are
// upstream's.

import type { Clock } from '#machinery/clock.ts';
import { Family, Histogram, histogramsText } from '#machinery/metrics/instruments.ts';
import type { Operation } from './plugin.ts';

export type Step = 'admit' | 'validate';

/** Upstream's buckets, in seconds. */
const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

/** The histograms of one plugin or one step, resolved once for all writes with the same labels. */
export interface AdmissionDurations {
  readonly accepted: Histogram;
  readonly rejected: Histogram;
}

export class AdmissionMetrics {
  readonly #plugins = new Family(
    {
      name: 'apiserver_admission_controller_admission_duration_seconds',
      help: 'Seconds that an admission plugin took for a write.',
      labels: ['name', 'operation', 'rejected', 'type'],
    },
    () => new Histogram(BUCKETS_SECONDS),
  );
  readonly #steps = new Family(
    {
      name: 'apiserver_admission_step_admission_duration_seconds',
      help: 'Seconds that all admission plugins of a step took for a write.',
      labels: ['operation', 'rejected', 'type'],
    },
    () => new Histogram(BUCKETS_SECONDS),
  );

  plugin(name: string, operation: Operation, step: Step): AdmissionDurations {
    return {
      accepted: this.#plugins.with(name, operation, 'false', step),
      rejected: this.#plugins.with(name, operation, 'true', step),
    };
  }

  step(operation: Operation, step: Step): AdmissionDurations {
    return {
      accepted: this.#steps.with(operation, 'false', step),
      rejected: this.#steps.with(operation, 'true', step),
    };
  }

  /** Returns the metrics in Prometheus' text format. Series without observations are left out. */
  text(): string {
    return [this.#plugins, this.#steps]
      .map((family) =>
        histogramsText(
          family.description,
          [...family.entries()].filter(({ instrument }) => instrument.count > 0),
        ),
      )
      .join('');
  }
}

/** Times the plugins of one step of one write: the end of one plugin is the start of the next. */
export class StepTimer {
  readonly #clock: Clock;
  readonly #step: AdmissionDurations;
  readonly #begunMs: number;
  #lastMs: number;

  constructor(clock: Clock, step: AdmissionDurations) {
    this.#clock = clock;
    this.#step = step;
    this.#begunMs = clock.monotonic();
    this.#lastMs = this.#begunMs;
  }

  accepted(plugin: AdmissionDurations): void {
    plugin.accepted.observe(this.#secondsOfPlugin());
  }

  /** Records that the plugin rejected the write, which ends the step. */
  rejected(plugin: AdmissionDurations): void {
    plugin.rejected.observe(this.#secondsOfPlugin());
    this.#step.rejected.observe((this.#lastMs - this.#begunMs) / 1000);
  }

  /** Records that all plugins accepted the write. */
  finished(): void {
    this.#step.accepted.observe((this.#lastMs - this.#begunMs) / 1000);
  }

  #secondsOfPlugin(): number {
    const now = this.#clock.monotonic();
    const seconds = (now - this.#lastMs) / 1000;
    this.#lastMs = now;
    return seconds;
  }
}
