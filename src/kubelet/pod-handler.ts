// Handles added, updated and deleted pods, and pods that change in the runtime: admits a pod, wakes
// its worker, and drops its state at the end.

import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { ActivePods } from './active-pods.ts';
import { admitCriticalPod, type AdmissionInput, admitPod, type Rejection } from './admission.ts';
import type { Allocations } from './allocations.ts';
import type { DesiredPods } from './desired-pods.ts';
import type { PodEvents } from './events.ts';
import type { Leftovers } from './leftovers.ts';
import type { NodeDevices } from './node-devices.ts';
import { endPod } from './end-pod.ts';
import { EVICTED } from './eviction/admission.ts';
import { isCriticalPod } from './eviction/critical.ts';
import type { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import type { Pleg } from './pleg.ts';
import { isRunning, type RuntimePodStatus } from './pod/pod-status.ts';
import { qosClass } from './pod/resources.ts';
import { choosePreempted, describeShortage, type Shortage } from './preemption.ts';
import type { PodWorkers } from './pod-workers.ts';
import type { RuntimeManager } from './runtime/runtime-manager.ts';
import { isStaticPod } from './static-pods/static-pods.ts';
import { isTerminal } from './status/phase.ts';
import type { StatusManager } from './status/status-manager.ts';
import type { TokenManager } from './tokens.ts';
import {
  describePod,
  podUid,
  type Node,
  type Pod,
  type PodStatus,
  type ResourceList,
} from './types.ts';
import type { VolumeManager } from './volumes/volume-manager.ts';

const PREEMPTING = 'Preempting';
const PREEMPTED = 'Preempted in order to admit critical pod';

export interface PodHandlerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: KubeletMetrics;
  readonly events: PodEvents;
  /** The allocatable resources of the node. */
  readonly allocatable: ResourceList;
  /** Returns the Node; undefined while the API does not have it. */
  readonly node: () => Node | undefined;
  /** Returns the rejection for a reason that does not depend on other pods. */
  readonly rejects: (pod: Pod) => Rejection | undefined;
  /**
   * Reports whether another kubelet has brought the pod to rest, so that there is nothing to do
   * with it until it changes.
   */
  readonly isSettled: (pod: Pod) => boolean;
  /** Reports whether every source of static pods has been read. */
  readonly areStaticPodsRead: () => boolean;
  /** Aborts when the kubelet stops. */
  readonly signal: AbortSignal;
  readonly desired: DesiredPods;
  readonly active: ActivePods;
  readonly allocations: Allocations;
  readonly workers: PodWorkers;
  readonly statuses: StatusManager;
  readonly pleg: Pleg;
  readonly volumes: VolumeManager;
  readonly tokens: TokenManager;
  readonly runtimeManager: RuntimeManager;
  readonly leftovers: Leftovers;
  /** Absent: pods have no devices. */
  readonly devices?: NodeDevices;
  /** Removes the ended containers of a pod from the runtime, in the background. */
  readonly removeEnded: (uid: string) => void;
}

export class PodHandler {
  readonly #config: PodHandlerConfig;
  /** The pods of the API and the static manifests have been read: a pod in neither is an orphan. */
  #sourcesReady = false;
  /** By UID, in their latest version: admitted pods whose devices are being allocated. */
  readonly #allocating = new Map<string, Pod>();
  /** UIDs of critical pods that wait until others have ended for them. */
  readonly #waiting = new Set<string>();

  constructor(config: PodHandlerConfig) {
    this.#config = config;
  }

  /** Reports whether all desired pods are known, so that others may be killed. */
  get areSourcesReady(): boolean {
    return this.#sourcesReady && this.#config.areStaticPodsRead();
  }

  /** Called when the pods of the API are known. */
  sourcesAreReady(): void {
    this.#sourcesReady = true;
  }

  podAdded(pod: Pod): void {
    const { workers, allocations } = this.#config;
    const uid = podUid(pod);
    const ends = workers.isTerminationRequested(uid) || isTerminal(pod.status.phase);
    const admitted = ends || this.#admit(pod);
    this.#config.desired.set(uid, pod, allocations.current(pod));
    if (!admitted) return;
    if (ends) workers.update({ type: 'create', pod });
    else this.#start(pod);
  }

  /** Starts an admitted pod, after its devices, CPUs and memory are allocated. */
  #start(pod: Pod): void {
    const { workers, devices, logger } = this.#config;
    const uid = podUid(pod);
    const allocation = devices?.admit(pod);
    if (allocation === undefined) {
      workers.update({ type: this.#config.isSettled(pod) ? 'adopt' : 'create', pod });
      return;
    }
    if (!(allocation instanceof Promise)) {
      this.#reject(pod, allocation);
      return;
    }
    this.#allocating.set(uid, pod);
    this.#startWithDevices(uid, allocation).catch((error: unknown) =>
      logger.debug('pod not started', { pod: describePod(pod), err: error }),
    );
  }

  /** Starts the pod when its devices are allocated, or rejects it. */
  async #startWithDevices(uid: string, allocation: Promise<Rejection | undefined>): Promise<void> {
    const rejection = await allocation;
    const pod = this.#allocating.get(uid);
    // The pod was deleted meanwhile.
    if (pod === undefined) return;
    this.#allocating.delete(uid);
    if (rejection === undefined) {
      this.#config.workers.update({ type: 'create', pod });
      return;
    }
    this.#reject(pod, rejection);
    if (pod.metadata.deletionTimestamp !== undefined) this.#config.statuses.removeWhenWritten(pod);
  }

  podUpdated(pod: Pod): void {
    const { workers, statuses, volumes, allocations } = this.#config;
    const uid = podUid(pod);
    const before = this.#config.desired.get(uid);
    this.#config.desired.set(uid, pod, allocations.current(pod));
    statuses.observe(pod);
    if (this.#allocating.has(uid)) {
      this.#allocating.set(uid, pod);
      return;
    }
    if (before !== undefined && !concernsWorker(before, pod) && !this.#isForeignStatus(before, pod))
      return;
    if (this.#waiting.has(uid)) return;
    // Files in volumes may contain the pod's labels and annotations.
    volumes.markStale(uid);
    if (this.#isRejected(pod, workers.state(uid) !== undefined)) {
      if (pod.metadata.deletionTimestamp !== undefined) statuses.removeWhenWritten(pod);
      return;
    }
    workers.update({ type: 'update', pod });
  }

  /**
   * Reports whether another client has changed the status of a pod that has been at rest since this
   * kubelet took it over, so that only a sync can make the status with which it is compared.
   */
  #isForeignStatus(before: Pod, pod: Pod): boolean {
    return (
      this.#config.statuses.get(podUid(pod)) === undefined && !deepEqual(before.status, pod.status)
    );
  }

  podDeleted(pod: Pod): void {
    const { workers, statuses } = this.#config;
    const uid = podUid(pod);
    this.#config.desired.delete(uid);
    this.#allocating.delete(uid);
    statuses.forget(uid);
    this.#retryDeferred();
    if (workers.state(uid) === undefined) return;
    // The object was deleted without a grace period: the pod gets the grace period of its spec.
    workers.update({ type: 'kill', pod });
  }

  /**
   * Reports whether the pod may start now; rejects it otherwise, unless other pods end for it. Must
   * be called before the pod is one of the desired pods.
   */
  #admit(pod: Pod): boolean {
    const { allocatable, node, desired, active, pleg, allocations, rejects, devices } =
      this.#config;
    // The pod runs already, so it was admitted before the kubelet restarted.
    if (pleg.get(podUid(pod)) !== undefined) return true;
    const input: AdmissionInput = {
      pod,
      active: () => active.list().map((other) => allocations.current(other)),
      activeAtMost: { pods: desired.size, requested: desired.requestedAtMost },
      allocatable: devices?.allocatableFor(pod, allocatable) ?? allocatable,
      node: node(),
    };
    const early = rejects(pod);
    if (early !== undefined) return this.#reject(pod, early);
    if (isCriticalPod(pod)) return this.#admitCritical(input);
    const rejection = admitPod(input);
    return rejection === undefined || this.#reject(pod, rejection);
  }

  /** Admits a critical pod: pods that have resources it lacks end first. */
  #admitCritical(input: AdmissionInput): boolean {
    const { pod } = input;
    const { rejection, shortage } = admitCriticalPod(input);
    if (rejection !== undefined) return this.#reject(pod, rejection);
    if (shortage.size === 0) return true;
    const victims = choosePreempted(pod, input.active(), shortage);
    if (victims === undefined) {
      const problem =
        'preemption: error finding a set of pods to preempt: no set of running pods found to ' +
        `reclaim resources: ${describeShortage(shortage)}`;
      return this.#reject(pod, {
        reason: 'UnexpectedAdmissionError',
        message: `Unexpected error while attempting to recover from admission failure: ${problem}`,
      });
    }
    void this.#preempt(pod, victims, shortage);
    return false;
  }

  /** Ends the victims, one after the other, and then starts the pod. */
  async #preempt(pod: Pod, victims: readonly Pod[], shortage: Shortage): Promise<void> {
    const { events, metrics, logger, workers, clock, signal, desired } = this.#config;
    const uid = podUid(pod);
    this.#waiting.add(uid);
    for (const victim of victims) {
      events.warning(victim, PREEMPTING, PREEMPTED);
      logger.info('preempting pod to free up resources', {
        pod: describePod(victim),
        requestingPod: describePod(pod),
      });
      try {
        await endPod({ workers, events, clock }, victim, {
          reason: PREEMPTING,
          message: PREEMPTED,
          disruption: 'Pod was preempted by Kubelet to accommodate a critical pod.',
          signal,
        });
        metrics.podPreempted([...shortage.keys()][0] ?? '');
      } catch (error) {
        // The worker of the victim goes on trying.
        if (signal.aborted) return;
        logger.warn('pod not preempted', { pod: describePod(victim), err: error });
      }
    }
    this.#waiting.delete(uid);
    const wanted = desired.get(uid);
    if (wanted !== undefined) this.#start(wanted);
  }

  /** Reports the pod as rejected. Returns false. */
  #reject(pod: Pod, rejection: Rejection): false {
    const { metrics, logger, events, statuses, clock } = this.#config;
    metrics.podRejected(rejection.reason);
    logger.info('pod rejected', { pod: describePod(pod), reason: rejection.reason });
    events.warning(pod, rejection.reason, rejection.message);
    const status: PodStatus = {
      ...(pod.metadata.generation !== undefined
        ? { observedGeneration: pod.metadata.generation }
        : {}),
      phase: 'Failed',
      reason: rejection.reason,
      message: `Pod was rejected: ${rejection.message}`,
      qosClass: qosClass(pod),
      startTime: formatTime(clock.now()),
      ...(pod.status.conditions !== undefined ? { conditions: pod.status.conditions } : {}),
    };
    statuses.set(pod, status);
    return false;
  }

  /** Reports whether the pod was rejected at admission, and so never got a worker. */
  #isRejected(pod: Pod, hasWorker: boolean): boolean {
    return (
      !hasWorker && isTerminal(this.#config.statuses.get(podUid(pod))?.phase ?? pod.status.phase)
    );
  }

  /** Called when the sandboxes or containers of a pod have changed. */
  runtimeChanged(uid: string): void {
    const { workers } = this.#config;
    if (workers.state(uid) !== undefined) workers.sync(uid);
    else if (this.areSourcesReady && !this.#config.desired.has(uid)) this.killOrphan(uid);
  }

  /**
   * Called by the pod's worker when the pod is stopped and cleaned up, and for every later change
   * of the pod.
   */
  podFinished(pod: Pod): void {
    const { statuses, pleg, leftovers, removeEnded } = this.#config;
    const uid = podUid(pod);
    this.#retryDeferred();
    // The disk space of an evicted pod is needed now; others keep their containers for their logs.
    if (statuses.get(uid)?.reason === EVICTED) removeEnded(uid);
    const wanted = this.#config.desired.get(uid);
    if (wanted !== undefined && wanted.metadata.deletionTimestamp === undefined) return;
    if (wanted !== undefined && !isStaticPod(wanted)) statuses.removeWhenWritten(wanted);
    const left = pleg.get(uid);
    if (left !== undefined) leftovers.remove(left);
    if (wanted === undefined) this.forget(uid);
  }

  /** Wakes the pods whose resize was deferred: the node may have room for them now. */
  #retryDeferred(): void {
    const { workers, allocations } = this.#config;
    for (const uid of allocations.deferred()) workers.sync(uid);
  }

  /** Drops all state of a pod that is finished and not desired. */
  forget(uid: string): void {
    const { workers, statuses, runtimeManager, tokens, allocations } = this.#config;
    workers.forget(uid);
    allocations.forget(uid);
    statuses.forget(uid);
    runtimeManager.forget(uid);
    tokens.forget(uid);
  }

  /** Stops a pod of the runtime that is not desired, or removes it if it has stopped. */
  killOrphan(uid: string): void {
    const { workers, pleg, leftovers } = this.#config;
    const status = pleg.get(uid);
    if (status === undefined || workers.state(uid) !== undefined) return;
    if (!isRunning(status)) {
      leftovers.remove(status);
      return;
    }
    this.#config.logger.info('killing a pod that is not assigned to this node', {
      pod: `${status.namespace}/${status.name}`,
      uid,
    });
    workers.update({ type: 'kill', pod: podFromRuntime(status), runtimeOnly: true });
  }
}

/** Reports whether anything has changed except the status, which the kubelet writes itself. */
function concernsWorker(before: Pod, after: Pod): boolean {
  const a = before.metadata;
  const b = after.metadata;
  // The generation grows with every change of the spec, and with a deletion.
  if (a.generation === undefined || a.generation !== b.generation) return true;
  if (
    a.deletionTimestamp !== b.deletionTimestamp ||
    a.deletionGracePeriodSeconds !== b.deletionGracePeriodSeconds
  )
    return true;
  if (!isDeepStrictEqual(a.labels, b.labels) || !isDeepStrictEqual(a.annotations, b.annotations))
    return true;
  // Readiness gates are conditions that other clients write. Another client may also have set a
  // terminal phase.
  if ((after.spec.readinessGates ?? []).length > 0) return true;
  return isTerminal(after.status.phase) && !isTerminal(before.status.phase);
}

/** Returns a pod with the fields that stopping it needs. */
function podFromRuntime(status: RuntimePodStatus): Pod {
  const names = [...new Set(status.containers.map((container) => container.name))];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: status.name,
      namespace: status.namespace,
      uid: status.uid,
      resourceVersion: '',
      creationTimestamp: '',
    },
    spec: { containers: names.map((name) => ({ name, resources: {} })) },
    status: {},
  };
}
