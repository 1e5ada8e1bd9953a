// Starts and stops probe workers, and keeps their verdicts. A worker belongs to one instance of a
// container: it begins when the instance runs and ends with it; liveness and readiness probes wait
// for the startup probe.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { PodEvents } from '../events.ts';
import type { ProbeVerdicts } from '../runtime/compute-pod-actions.ts';
import {
  findContainer,
  podIPs,
  type ContainerRecord,
  type RuntimePodStatus,
  parseContainerId,
} from '../pod/pod-status.ts';
import { isSidecar } from '../pod/restart-policy.ts';
import type { ProbeStatusSource } from '../status/generate.ts';
import {
  describePod,
  podUid,
  type Container,
  type ContainerStatus,
  type Pod,
  type PodStatus,
  type Probe,
} from '../types.ts';
import { ProbeMetrics } from './probe-metrics.ts';
import type { ProbeOutcome, ProbeRunner } from './probe-runner.ts';
import { ProbeWorker, type ProbeType, type Verdict } from './probe-worker.ts';

export interface ProbeManagerConfig {
  readonly runner: ProbeRunner;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly events: PodEvents;
  /** Called after a verdict has changed: the pod or its status must be updated. */
  readonly onChange: (uid: string) => void;
}

/** A running container instance with probes. */
interface Instance {
  readonly uid: string;
  readonly name: string;
  readonly workers: Map<ProbeType, ProbeWorker>;
  readonly verdicts: Map<ProbeType, Verdict>;
  /** The pod as of the last sync, for events. */
  pod: Pod;
  podIP: string;
}

const PERIOD_MS = 10_000;

export class ProbeManager implements ProbeVerdicts, ProbeStatusSource {
  readonly metrics: ProbeMetrics;
  readonly #config: ProbeManagerConfig;
  /** By container ID. */
  readonly #instances = new Map<string, Instance>();
  readonly #byPod = new Map<string, Set<string>>();
  readonly #startedAt: number;

  constructor(config: ProbeManagerConfig) {
    this.#config = config;
    this.metrics = new ProbeMetrics(config.clock);
    this.#startedAt = config.clock.now();
  }

  /**
   * Starts and stops workers so that exactly the running instances of the pod are probed.
   * `previous`: the last reported status of the pod.
   */
  sync(pod: Pod, status: RuntimePodStatus, previous: PodStatus): void {
    const uid = podUid(pod);
    const current = new Set<string>();
    for (const container of probedContainers(pod)) {
      const record = findContainer(status, container.name);
      if (record?.state !== 'running') continue;
      current.add(record.id);
      const instance =
        this.#instances.get(record.id) ?? this.#add(pod, container, record, previous);
      instance.pod = pod;
      instance.podIP = podIPs(status)[0] ?? pod.status.podIP ?? '';
      this.#startWorkers(instance, container, record);
    }
    for (const id of this.#byPod.get(uid) ?? []) if (!current.has(id)) this.#remove(id);
  }

  /**
   * Stops the liveness and startup probes of a terminating pod: it is no longer restarted, but
   * still reports its readiness.
   */
  stopLivenessAndStartup(uid: string): void {
    for (const id of this.#byPod.get(uid) ?? []) {
      const instance = this.#instances.get(id);
      for (const type of ['liveness', 'startup'] as const) {
        instance?.workers.get(type)?.stop();
        instance?.workers.delete(type);
      }
    }
  }

  remove(uid: string): void {
    this.metrics.forget(uid);
    for (const id of this.#byPod.get(uid) ?? []) this.#remove(id);
  }

  stop(): void {
    for (const id of this.#instances.keys()) this.#remove(id);
  }

  liveness(containerId: string): Verdict | undefined {
    return this.#instances.get(containerId)?.verdicts.get('liveness');
  }

  startup(containerId: string): Verdict | undefined {
    return this.#instances.get(containerId)?.verdicts.get('startup');
  }

  withProbeResults(pod: Pod, status: ContainerStatus, init: boolean): ContainerStatus {
    const lists = init ? pod.spec.initContainers : pod.spec.containers;
    const container = (lists ?? []).find((candidate) => candidate.name === status.name);
    if (container === undefined) return status;
    const instance = this.#instances.get(parseContainerId(status.containerID));
    const running = status.state.running !== undefined;
    const started =
      running &&
      (container.startupProbe === undefined || instance?.verdicts.get('startup') === 'success');
    if (init && !isSidecar(container))
      return { ...status, started, ready: status.state.terminated?.exitCode === 0 };
    const ready =
      started &&
      (container.readinessProbe === undefined || instance?.verdicts.get('readiness') === 'success');
    return { ...status, started, ready };
  }

  #add(pod: Pod, container: Container, record: ContainerRecord, previous: PodStatus): Instance {
    const uid = podUid(pod);
    const instance: Instance = {
      uid,
      name: container.name,
      workers: new Map(),
      verdicts: new Map(),
      pod,
      podIP: '',
    };
    // After a restart of the kubelet, the reported state of an instance is kept until its probe has
    // a verdict.
    const reported = [
      ...(previous.containerStatuses ?? []),
      ...(previous.initContainerStatuses ?? []),
    ].find(
      (status) =>
        status.name === container.name && parseContainerId(status.containerID) === record.id,
    );
    if (container.startupProbe !== undefined && reported?.started === true)
      instance.verdicts.set('startup', 'success');
    if (container.readinessProbe !== undefined && reported?.ready === true)
      instance.verdicts.set('readiness', 'success');
    this.#instances.set(record.id, instance);
    const ids = this.#byPod.get(uid) ?? new Set<string>();
    this.#byPod.set(uid, ids.add(record.id));
    return instance;
  }

  #startWorkers(instance: Instance, container: Container, record: ContainerRecord): void {
    const starting =
      container.startupProbe !== undefined && instance.verdicts.get('startup') !== 'success';
    const wanted: readonly [ProbeType, Probe | undefined][] = starting
      ? [['startup', container.startupProbe]]
      : [
          ['liveness', container.livenessProbe],
          ['readiness', container.readinessProbe],
        ];
    for (const [type, probe] of wanted) {
      const terminating = instance.pod.metadata.deletionTimestamp !== undefined;
      if (
        probe === undefined ||
        instance.workers.has(type) ||
        (terminating && type !== 'readiness')
      )
        continue;
      instance.workers.set(type, this.#makeWorker(instance, container, record, type, probe));
    }
    if (!starting) {
      instance.workers.get('startup')?.stop();
      instance.workers.delete('startup');
    }
  }

  #makeWorker(
    instance: Instance,
    container: Container,
    record: ContainerRecord,
    type: ProbeType,
    probe: Probe,
  ): ProbeWorker {
    const { clock, random, runner } = this.#config;
    const target = { container, containerId: record.id };
    // After a restart of the kubelet, probes of running containers are spread over time.
    const old =
      record.startedAt > 0 &&
      record.startedAt < this.#startedAt &&
      clock.now() - this.#startedAt < PERIOD_MS;
    return new ProbeWorker({
      type,
      probe,
      startedAt: record.startedAt,
      clock,
      jitterMs: old ? random.float() * (probe.periodSeconds ?? 10) * 1000 : 0,
      run: (what, signal) =>
        this.metrics.timed(instance.pod, container.name, type, signal, () =>
          runner.run(what, { ...target, podIP: instance.podIP }, signal),
        ),
      onOutcome: (outcome) => this.#report(instance, container, type, outcome),
      onVerdict: (verdict) => {
        instance.verdicts.set(type, verdict);
        this.#config.onChange(instance.uid);
      },
    });
  }

  #report(instance: Instance, container: Container, type: ProbeType, outcome: ProbeOutcome): void {
    if (outcome.result === 'success') return;
    const title = type.charAt(0).toUpperCase() + type.slice(1);
    if (outcome.result === 'warning') {
      this.#config.events.container(
        instance.pod,
        container,
        'Warning',
        'ProbeWarning',
        `${title} probe warning: ${outcome.message}`,
      );
      return;
    }
    const words =
      outcome.result === 'error'
        ? `${title} probe errored and resulted in ${outcome.state ?? 'unknown'} state: ${outcome.message}`
        : `${title} probe failed: ${outcome.message}`;
    this.#config.logger.debug('probe failed', {
      pod: describePod(instance.pod),
      container: container.name,
      probe: type,
    });
    this.#config.events.container(instance.pod, container, 'Warning', 'Unhealthy', words);
  }

  #remove(id: string): void {
    const instance = this.#instances.get(id);
    if (instance === undefined) return;
    for (const worker of instance.workers.values()) worker.stop();
    this.#instances.delete(id);
    const ids = this.#byPod.get(instance.uid);
    ids?.delete(id);
    if (ids?.size === 0) this.#byPod.delete(instance.uid);
  }
}

function probedContainers(pod: Pod): readonly Container[] {
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
  return all.filter(
    (container) =>
      container.startupProbe !== undefined ||
      container.livenessProbe !== undefined ||
      container.readinessProbe !== undefined,
  );
}
