// The steps of a pod's worker: start the pod and keep it running, stop it, and clean up. Each step
// begins with the pod's status in the runtime and ends with the resulting API status.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Allocations } from './allocations.ts';
import type { PodCgroups } from './pod-cgroups/pod-cgroups.ts';
import type { DownwardContext } from './env/downward.ts';
import type { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import type { PodEvents } from './events.ts';
import type { NodeDevices } from './node-devices.ts';
import { untilAborted } from './handlers/timeout.ts';
import { untilAbortedObjects, type ObjectTracker } from './objects.ts';
import type { Pleg } from './pleg.ts';
import type { PodSyncer, StatusChange, SyncResult } from './pod-workers.ts';
import type { ProbeManager } from './probes/probe-manager.ts';
import { Backoff } from './backoff.ts';
import type { ContainerKiller } from './runtime/kill.ts';
import { emptyPodStatus, runningContainers, type RuntimePodStatus } from './pod/pod-status.ts';
import { qosClass } from './pod/resources.ts';
import type { RuntimeManager } from './runtime/runtime-manager.ts';
import { generatePodStatus } from './status/generate.ts';
import { resizePending, resizeProgress, resizeStarted } from './status/resize-events.ts';
import { isTerminal } from './status/phase.ts';
import type { StatusManager } from './status/status-manager.ts';
import { terminatedStatus } from './status/terminated.ts';
import { describePod, podUid, type Pod, type PodStatus, type Secret } from './types.ts';
import type { UserNamespaces } from './user-namespaces/user-namespaces.ts';
import type { PayloadContext } from './volumes/payload.ts';
import { VolumeError } from './volumes/volume-error.ts';
import type { VolumeManager } from './volumes/volume-manager.ts';

export interface SyncerConfig {
  readonly metrics?: Pick<KubeletMetrics, 'podStarted' | 'timer' | 'podRejected'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: PodEvents;
  readonly pleg: Pleg;
  readonly statuses: StatusManager;
  readonly probes: ProbeManager;
  readonly runtimeManager: RuntimeManager;
  readonly killer: ContainerKiller;
  readonly volumes: VolumeManager;
  readonly objects: ObjectTracker;
  readonly allocations: Allocations;
  /** Absent: pods have no devices. */
  readonly devices?: NodeDevices;
  /** Absent: pods have no cgroups of their own. */
  readonly cgroups: PodCgroups | undefined;
  readonly token: PayloadContext['token'];
  readonly downward: () => DownwardContext;
  /** Returns the runtime's own name, for container IDs. */
  readonly runtimeName: () => string;
  /** Returns the reason why pods cannot have a network; undefined if they can. */
  readonly networkProblem: () => string | undefined;
  readonly userNamespaces: Pick<UserNamespaces, 'release'>;
  /** Removes dead containers of the pod that are not needed. */
  readonly collectGarbage: (status: RuntimePodStatus) => Promise<void>;
}

const VOLUME_BACKOFF_MS = 500;
const MAX_VOLUME_BACKOFF_MS = 122_000;
/** An unbound claim is checked again after this time. */
const CLAIM_RETRY_MS = 10_000;
const NETWORK_RETRY_MS = 5000;
const FIRST_REPORT_MS = 10;
/** A resize without enough resources is retried after this time, or when a pod ends. */
const DEFERRED_RESIZE_MS = 180_000;

/** Why a pod is rejected whose volumes cannot be attached. */
const LIMIT_REASON = 'VolumeAttachmentLimitExceeded';
const LIMIT_EXCEEDED = 'Node has reached its volume attachment limit';

export class KubeletPodSyncer implements PodSyncer {
  readonly #config: SyncerConfig;
  readonly #volumeBackoff: Backoff;
  /**
   * By UID: for pods that have not run yet, returns the time since their first sync, in seconds.
   */
  readonly #starting = new Map<string, () => number>();
  /** By UID: the generation of a pod whose allocated resize may not be complete. */
  readonly #resizing = new Map<string, number>();
  /** By UID: for pods whose containers are being stopped, reports the status again. */
  readonly #stopping = new Map<string, () => void>();

  constructor(config: SyncerConfig) {
    this.#config = config;
    this.#volumeBackoff = new Backoff(config.clock, VOLUME_BACKOFF_MS, MAX_VOLUME_BACKOFF_MS);
  }

  adoptPod(pod: Pod): void {
    const { allocations, objects } = this.#config;
    allocations.allocate(pod);
    objects.register(pod);
  }

  async syncPod(wanted: Pod, first: boolean, signal: AbortSignal): Promise<SyncResult> {
    const { pleg, probes, allocations, clock, metrics } = this.#config;
    const { pod, pending } = allocations.allocate(wanted);
    const uid = podUid(pod);
    if (pending !== undefined) {
      const conditions = this.#previous(wanted).conditions ?? [];
      const event = resizePending(wanted, pending, conditions);
      if (event !== undefined) this.#config.events.resize(wanted, event);
    }
    if (first && metrics !== undefined && pleg.get(uid) === undefined)
      this.#starting.set(uid, metrics.timer());
    pleg.hold(uid);
    try {
      await pleg.complete(uid);
      const status = this.#observed(pod);
      probes.sync(pod, status, this.#previous(pod));
      const result = await this.#reportAndAct(pod, status, signal);
      if (result.ended) return result;
      // Computed here, because the start time may have been set in this sync.
      const times = [this.#deadline(pod)?.at, result.retryAt];
      if (pending?.reason === 'Deferred') times.push(clock.now() + DEFERRED_RESIZE_MS);
      const due = times.filter((time) => time !== undefined);
      return due.length === 0 ? result : { ...result, retryAt: Math.min(...due) };
    } finally {
      pleg.release(uid);
    }
  }

  async syncTerminatingPod(
    pod: Pod,
    gracePeriodSeconds: number,
    change: StatusChange | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { pleg, probes, killer } = this.#config;
    const uid = podUid(pod);
    pleg.hold(uid);
    try {
      await pleg.complete(uid);
      const status = this.#observed(pod);
      probes.sync(pod, status, this.#previous(pod));
      probes.stopLivenessAndStartup(uid);
      const report = (): void => {
        const current = this.#observed(pod);
        if (change !== undefined)
          this.#config.statuses.set(pod, change(this.#generate(pod, current, false)));
        else
          this.#report(pod, current, {
            ended: false,
            deadlineExceeded: this.#deadline(pod)?.exceeded === true,
          });
      };
      report();
      this.#stopping.set(uid, report);
      if (
        status.sandboxes.some((sandbox) => sandbox.ready) ||
        runningContainers(status).length > 0
      ) {
        await killer.killPod(pod, status, gracePeriodSeconds, signal);
      }
      const stopped = await pleg.refresh(uid);
      const running = runningContainers(stopped);
      if (running.length > 0) {
        throw new Error(
          `detected running containers after a successful stop: ${running.map(({ name }) => name).join(', ')}`,
        );
      }
      // Before the status is written: then others may use the claims.
      await this.#config.devices?.unprepare(pod, signal);
      probes.remove(uid);
    } finally {
      this.#stopping.delete(uid);
      pleg.release(uid);
    }
  }

  /** Records that a resize of the pod was allocated. */
  resizeBegun(pod: Pod): void {
    this.#resizing.set(podUid(pod), pod.metadata.generation ?? 0);
    this.#config.events.resize(pod, resizeStarted(pod));
  }

  /**
   * Reports a changed verdict of a probe, if the containers of the pod are being stopped: the pod is
   * not synced during its grace period, but its readiness still counts.
   */
  verdictChanged(uid: string): void {
    this.#stopping.get(uid)?.();
  }

  async syncTerminatingRuntimePod(pod: Pod, signal: AbortSignal): Promise<void> {
    const { pleg, killer } = this.#config;
    const uid = podUid(pod);
    pleg.hold(uid);
    try {
      const status = await pleg.refresh(uid);
      // An orphan needs no grace period.
      await killer.killPod(pod, status, 1, signal);
      const running = runningContainers(await pleg.refresh(uid));
      if (running.length > 0)
        throw new Error('detected running containers after a successful stop');
    } finally {
      pleg.release(uid);
    }
  }

  async syncTerminatedPod(pod: Pod, signal: AbortSignal): Promise<void> {
    const { volumes, objects, probes, statuses, runtimeManager, allocations } = this.#config;
    const uid = podUid(pod);
    this.#starting.delete(uid);
    await this.#config.pleg.complete(uid);
    const status = this.#observed(pod);
    statuses.set(pod, terminatedStatus(this.#generate(pod, status, true)));
    probes.remove(uid);
    await volumes.unmount(uid);
    await this.#config.cgroups?.remove(pod);
    await this.#config.userNamespaces.release(uid);
    signal.throwIfAborted();
    objects.unregister(uid);
    runtimeManager.forget(uid);
    allocations.forget(uid);
    this.#resizing.delete(uid);
    this.#volumeBackoff.reset(uid);
  }

  /**
   * Writes the status of the pod and acts on it. For a pod without containers, the status is
   * written after a short delay, and only if the pod does not run by then.
   */
  async #reportAndAct(
    pod: Pod,
    status: RuntimePodStatus,
    signal: AbortSignal,
  ): Promise<SyncResult> {
    const neverReported =
      this.#config.statuses.get(podUid(pod)) === undefined &&
      pod.status.containerStatuses === undefined;
    const isNew = status.fingerprint === '' && neverReported && !isTerminal(pod.status.phase);
    if (!isNew) {
      const reported = this.#report(pod, status, {
        ended: false,
        deadlineExceeded: this.#deadline(pod)?.exceeded === true,
      });
      return isTerminal(reported.phase) ? { ended: true } : await this.#act(pod, status, signal);
    }
    const timer = this.#config.clock.setTimer(FIRST_REPORT_MS, () => {
      this.#report(pod, status, { ended: false, deadlineExceeded: false });
    });
    try {
      return await this.#act(pod, status, signal);
    } finally {
      timer.cancel();
    }
  }

  /** Mounts volumes, starts containers, and returns the result. */
  async #act(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<SyncResult> {
    const { clock, events, objects, runtimeManager, networkProblem } = this.#config;
    const problem = pod.spec.hostNetwork === true ? undefined : networkProblem();
    if (problem !== undefined) {
      events.warning(pod, 'NetworkNotReady', `network is not ready: ${problem}`);
      this.#report(pod, status, { ended: false, deadlineExceeded: false });
      return { ended: false, retryAt: clock.now() + NETWORK_RETRY_MS };
    }
    objects.register(pod);
    const mounted = await this.#mount(pod, signal);
    if ('rejection' in mounted) return this.#reject(pod, status, mounted.rejection);
    if ('retryAt' in mounted) {
      this.#report(pod, status, { ended: false, deadlineExceeded: false });
      return { ended: false, retryAt: mounted.retryAt };
    }
    const secrets = await this.#pullSecrets(pod, signal);
    signal.throwIfAborted();
    await this.#config.cgroups?.ensure(pod);
    const result = await runtimeManager.sync(pod, status, secrets, mounted.volumes, signal);
    const after = result.acted ? await this.#config.pleg.refresh(podUid(pod)) : status;
    // A limit that its containers do not have yet could end them.
    if (runtimeManager.resizer.progress(pod, after)?.error === undefined)
      await this.#config.cgroups?.settle(pod);
    const reported = this.#report(pod, after, { ended: false, deadlineExceeded: false });
    if (isTerminal(reported.phase)) return { ended: true };
    if (!result.acted) return withRetry(result.retryAt);
    this.#config.probes.sync(pod, after, this.#previous(pod));
    await this.#config.collectGarbage(after);
    const retry = withRetry(this.#resetAt(pod, after, result.retryAt));
    return { ...retry, again: this.#hasWork(pod, after) };
  }

  /**
   * Returns when the next sync is due: when all containers may restart, if one of them has ended
   * already and asks for that.
   */
  #resetAt(pod: Pod, status: RuntimePodStatus, retryAt: number | undefined): number | undefined {
    const { clock, runtimeManager } = this.#config;
    if (runtimeManager.actions(pod, status).containersToReset.length === 0) return retryAt;
    const at = clock.now() + runtimeManager.resetDelayMs(podUid(pod));
    return retryAt === undefined ? at : Math.min(at, retryAt);
  }

  /**
   * Reports whether another sync is needed at once: a container has ended already, or a sandbox is
   * gone again.
   */
  #hasWork(pod: Pod, status: RuntimePodStatus): boolean {
    const actions = this.#config.runtimeManager.actions(pod, status);
    const uid = podUid(pod);
    const startable = (name: string | undefined): boolean =>
      name !== undefined && this.#config.runtimeManager.startFailure(uid, name) === undefined;
    return (
      actions.containersToKill.length > 0 ||
      (actions.killPod && status.sandboxes.some((sandbox) => sandbox.ready)) ||
      actions.initContainersToStart.some((index) =>
        startable(pod.spec.initContainers?.[index]?.name),
      ) ||
      actions.containersToStart.some((index) => startable(pod.spec.containers[index]?.name))
    );
  }

  async #mount(
    pod: Pod,
    signal: AbortSignal,
  ): Promise<
    | { readonly volumes: ReadonlyMap<string, string> }
    | { readonly retryAt: number }
    | { readonly rejection: string }
  > {
    const { clock, events, objects, token, downward, volumes } = this.#config;
    const uid = podUid(pod);
    try {
      const mounted = await volumes.mount(pod, {
        objects: untilAbortedObjects(objects, signal),
        token: (request) => untilAborted(token(request), signal),
        downward: downward(),
        signal,
      });
      this.#volumeBackoff.reset(uid);
      return { volumes: mounted };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof VolumeError)) throw error;
      if (error.isLimitExceeded)
        return { rejection: `${LIMIT_EXCEEDED}, rejecting pod. ${error.unmounted ?? ''}` };
      for (const { reason, message } of error.events) events.warning(pod, reason, message);
      this.#config.logger.warn('volumes not mounted', { pod: describePod(pod), err: error });
      this.#volumeBackoff.next(uid, clock.now());
      const backoffMs = this.#volumeBackoff.get(uid);
      return {
        retryAt:
          clock.now() +
          (error.unclaimed.length > 0 ? Math.min(backoffMs, CLAIM_RETRY_MS) : backoffMs),
      };
    }
  }

  /** Ends a pod whose volumes this node cannot have. */
  #reject(pod: Pod, status: RuntimePodStatus, message: string): SyncResult {
    const { events, logger, metrics, statuses } = this.#config;
    metrics?.podRejected(LIMIT_REASON);
    logger.info('pod rejected', { pod: describePod(pod), reason: LIMIT_REASON });
    events.warning(pod, LIMIT_REASON, message);
    statuses.set(pod, {
      ...this.#generate(pod, status, true),
      phase: 'Failed',
      reason: LIMIT_REASON,
      message: `Pod was rejected: ${message}`,
    });
    return { ended: true };
  }

  /**
   * Returns the secrets that exist. A missing one is reported in an event; the pull shows whether
   * it was needed.
   */
  async #pullSecrets(pod: Pod, signal: AbortSignal): Promise<readonly Secret[]> {
    const wanted = pod.spec.imagePullSecrets ?? [];
    if (wanted.length === 0) return [];
    const secrets: Secret[] = [];
    const missing: string[] = [];
    for (const { name = '' } of wanted) {
      try {
        secrets.push(
          await untilAborted(
            this.#config.objects.secret(pod.metadata.namespace ?? '', name),
            signal,
          ),
        );
      } catch (error) {
        signal.throwIfAborted();
        missing.push(name);
        this.#config.logger.debug('image pull secret not read', {
          pod: describePod(pod),
          secret: name,
          err: error,
        });
      }
    }
    if (missing.length > 0) {
      this.#config.events.warning(
        pod,
        'FailedToRetrieveImagePullSecret',
        `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to ` +
          'pull the image may not succeed.',
      );
    }
    return secrets;
  }

  /** Returns the last observed status of the pod in the runtime: empty if it was never observed. */
  #observed(pod: Pod): RuntimePodStatus {
    return (
      this.#config.pleg.get(podUid(pod)) ??
      emptyPodStatus(podUid(pod), pod.metadata.name, pod.metadata.namespace ?? '')
    );
  }

  #previous(pod: Pod): PodStatus {
    return this.#config.statuses.get(podUid(pod)) ?? pod.status;
  }

  #generate(wanted: Pod, runtimeStatus: RuntimePodStatus, ended: boolean): PodStatus {
    const uid = podUid(wanted);
    const { allocations, runtimeManager } = this.#config;
    const { resizer } = runtimeManager;
    const pod = allocations.current(wanted);
    return generatePodStatus({
      pod,
      actualResources: (record, container) => resizer.actual(pod, container, record),
      resize: {
        pending: allocations.pending(uid),
        inProgress: resizer.progress(pod, runtimeStatus),
      },
      runtimeStatus,
      previous: this.#previous(pod),
      runtimeName: this.#config.runtimeName(),
      startFailure: (name) => runtimeManager.startFailure(uid, name),
      probes: this.#config.probes,
      hostIPs: this.#config.downward().hostIPs,
      recursiveReadOnly: runtimeManager.makesRecursiveReadOnly(uid),
      qosClass: qosClass(pod),
      ended,
      withDeviceHealth: (of, status) => this.#config.devices?.withHealth(of, status) ?? status,
    });
  }

  #report(
    pod: Pod,
    status: RuntimePodStatus,
    how: { readonly ended: boolean; readonly deadlineExceeded: boolean },
  ): PodStatus {
    let reported = this.#generate(pod, status, how.ended);
    if (how.deadlineExceeded) {
      reported = {
        ...reported,
        phase: 'Failed',
        reason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
      };
    }
    this.#recordResize(pod, this.#previous(pod), reported);
    this.#config.statuses.set(pod, reported);
    const seconds = this.#starting.get(podUid(pod));
    if (seconds !== undefined && reported.phase !== 'Pending') {
      this.#starting.delete(podUid(pod));
      if (reported.phase === 'Running') this.#config.metrics?.podStarted(seconds());
    }
    return reported;
  }

  #recordResize(wanted: Pod, before: PodStatus, after: PodStatus): void {
    if (isTerminal(after.phase) || wanted.metadata.deletionTimestamp !== undefined) return;
    const uid = podUid(wanted);
    const event = resizeProgress(
      this.#config.allocations.current(wanted),
      before.conditions ?? [],
      after.conditions ?? [],
      this.#resizing.get(uid),
    );
    if (event === undefined) return;
    if (event.reason === 'ResizeCompleted') this.#resizing.delete(uid);
    this.#config.events.resize(wanted, event);
  }

  /** Returns when the pod's activeDeadlineSeconds end, and whether they are exceeded. */
  #deadline(pod: Pod): { readonly at: number; readonly exceeded: boolean } | undefined {
    const seconds = pod.spec.activeDeadlineSeconds;
    const started = this.#previous(pod).startTime;
    if (seconds === undefined || started === undefined) return undefined;
    const at = Date.parse(started) + seconds * 1000;
    return { at, exceeded: this.#config.clock.now() >= at };
  }
}

function withRetry(retryAt: number | undefined): SyncResult {
  return retryAt === undefined ? { ended: false } : { ended: false, retryAt };
}
