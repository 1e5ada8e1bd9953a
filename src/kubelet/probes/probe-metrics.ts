// /metrics/probes: counts successes and failures of the probes of the node's pods, and measures
// their duration.

import type { Clock } from '#machinery/clock.ts';
import {
  Counter,
  counterText,
  Family,
  gaugeText,
  Histogram,
  histogramText,
} from '#machinery/metrics/instruments.ts';
import { DEFAULT_BUCKETS } from '../metrics/families.ts';
import { podUid, type Pod } from '../types.ts';
import type { ProbeOutcome } from './probe-runner.ts';
import type { ProbeType } from './probe-worker.ts';

const TYPES: Readonly<Record<ProbeType, string>> = {
  startup: 'Startup',
  liveness: 'Liveness',
  readiness: 'Readiness',
};

/**
 * The counts of one probe of one container. They outlive restarts of the container and are dropped
 * with the pod.
 */
interface ProbeCounts {
  readonly pod: Pod;
  readonly container: string;
  readonly type: ProbeType;
  readonly successful: Counter;
  readonly failed: Counter;
  readonly duration: Histogram;
}

export class ProbeMetrics {
  readonly #clock: Clock;
  readonly #startedAt: number;
  /** Keyed by the pod's UID, then by probe type and container name. */
  readonly #pods = new Map<string, Map<string, ProbeCounts>>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /**
   * Runs a probe and counts its outcome. A probe that could not be run is not counted, as upstream.
   */
  async timed(
    pod: Pod,
    container: string,
    type: ProbeType,
    signal: AbortSignal,
    run: () => Promise<ProbeOutcome>,
  ): Promise<ProbeOutcome> {
    const start = this.#clock.monotonic();
    const outcome = await run();
    // A probe that ends after its pod was dropped would leave a series behind.
    if (outcome.result === 'error' || signal.aborted) return outcome;
    const counts = this.#counts(pod, container, type);
    counts.duration.observe((this.#clock.monotonic() - start) / 1000);
    if (outcome.result === 'success') counts.successful.value++;
    else counts.failed.value++;
    return outcome;
  }

  /** Drops the series of a pod that is no longer probed. */
  forget(uid: string): void {
    this.#pods.delete(uid);
  }

  text(): string {
    const total = new Family(
      {
        name: 'prober_probe_total',
        help: 'Probes of containers by type and result.',
        labels: ['container', 'namespace', 'pod', 'pod_uid', 'probe_type', 'result'],
      },
      () => new Counter(),
    );
    let histogram = new Histogram(DEFAULT_BUCKETS);
    const labels = ['container', 'namespace', 'pod', 'probe_type'];
    const durations = new Family(
      { name: 'prober_probe_duration_seconds', help: 'Duration of probes.', labels },
      () => histogram,
    );
    for (const counts of [...this.#pods.values()].flatMap((probes) => [...probes.values()])) {
      const { name, namespace = '' } = counts.pod.metadata;
      const type = TYPES[counts.type];
      for (const result of ['successful', 'failed'] as const) {
        if (counts[result].value === 0) continue;
        total.with(counts.container, namespace, name, podUid(counts.pod), type, result).value =
          counts[result].value;
      }
      histogram = counts.duration;
      durations.with(counts.container, namespace, name, type);
    }
    const started = gaugeText(
      {
        name: 'process_start_time_seconds',
        help: 'When the kubelet started, in seconds since the Unix epoch.',
      },
      [[[], this.#startedAt / 1000]],
    );
    return started + histogramText(durations) + counterText(total);
  }

  #counts(pod: Pod, container: string, type: ProbeType): ProbeCounts {
    const uid = podUid(pod);
    let probes = this.#pods.get(uid);
    if (probes === undefined) {
      probes = new Map();
      this.#pods.set(uid, probes);
    }
    const key = `${type}/${container}`;
    let counts = probes.get(key);
    if (counts === undefined) {
      counts = {
        pod,
        container,
        type,
        successful: new Counter(),
        failed: new Counter(),
        duration: new Histogram(DEFAULT_BUCKETS),
      };
      probes.set(key, counts);
    }
    return counts;
  }
}
