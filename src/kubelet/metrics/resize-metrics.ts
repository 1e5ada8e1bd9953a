// Metrics of in-place resizes, with upstream's names.

import type { Instruments, Sample } from '#machinery/metrics/instruments.ts';
import type { AllocationMetrics } from '../allocations.ts';
import { amounts } from '../pod/resources.ts';
import type { Container, Pod } from '../types.ts';

/** The pods whose last resize is not complete. */
export interface OpenResizes {
  readonly deferred: number;
  readonly infeasible: number;
  readonly inProgress: number;
}

const DURATION_BUCKETS_MS: readonly number[] = [
  10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];

const REQUESTED = {
  name: 'kubelet_container_requested_resizes_total',
  help: 'Changes of requests and limits of containers that were asked for.',
  labels: ['resource', 'requirement', 'operation'],
};
const INFEASIBLE = {
  name: 'kubelet_pod_infeasible_resizes_total',
  help: 'Resizes that a rule made impossible.',
  labels: ['reason_detail'],
};
const DURATION = {
  name: 'kubelet_pod_resize_duration_milliseconds',
  help: 'Duration of resizing a pod, in milliseconds.',
  labels: ['success'],
};

export class ResizeMetrics implements AllocationMetrics {
  readonly #instruments: Instruments;

  constructor(instruments: Instruments) {
    this.#instruments = instruments;
  }

  resizeRequested(pod: Pod, before: Pod): void {
    const had = new Map(containersOf(before).map((container) => [container.name, container]));
    for (const { name, resources } of containersOf(pod)) {
      const last = had.get(name);
      if (last === undefined) continue;
      for (const resource of ['memory', 'cpu'] as const) {
        for (const requirement of ['requests', 'limits'] as const) {
          const [to, from] = [resources, last.resources].map(
            (each) => amounts(each?.[requirement]).get(resource) ?? 0,
          );
          const operation = operationOf(from ?? 0, to ?? 0);
          if (operation !== undefined)
            this.#instruments.counter(REQUESTED).with(resource, requirement, operation).value++;
        }
      }
    }
  }

  resizeInfeasible(detail: string): void {
    this.#instruments.counter(INFEASIBLE).with(detail).value++;
  }

  resized(success: boolean, ms: number): void {
    this.#instruments.histogram(DURATION, DURATION_BUCKETS_MS).with(String(success)).observe(ms);
  }

  /** Sets the current values. */
  set({ deferred, infeasible, inProgress }: OpenResizes): void {
    const pending = Object.entries({ deferred, infeasible })
      .filter(([, count]) => count > 0)
      .map(([reason, count]): Sample => [[reason], count]);
    const gauge = (name: string, help: string, labels: readonly string[], samples: Sample[]) =>
      this.#instruments.gauge({ name, help, labels }, () => samples);
    gauge('kubelet_pod_pending_resizes', 'Pods whose resize has to wait.', ['reason'], pending);
    gauge(
      'kubelet_pod_in_progress_resizes',
      'Pods that are being resized.',
      [],
      [[[], inProgress]],
    );
  }
}

function operationOf(
  from: number,
  to: number,
): 'add' | 'remove' | 'decrease' | 'increase' | undefined {
  if (from === to) return undefined;
  if (to === 0) return 'remove';
  if (from === 0) return 'add';
  return to < from ? 'decrease' : 'increase';
}

const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
];
