// Carries out the decision of computePodActions: kills containers, creates sandboxes, starts
// containers, in this order. A failure (an image that cannot be pulled, a container in back-off) is
// recorded as the reason why the container waits, and retried when its back-off ends.

import type { LinuxContainerResources } from '#cri/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { formatDuration } from '#machinery/text/duration.ts';
import { fnv32a } from '#machinery/text/hash.ts';
import { Backoff } from '../backoff.ts';
import { ImageError } from '../images/image-manager.ts';
import { findContainerById, type RuntimePodStatus, type StartFailure } from '../pod/pod-status.ts';
import { containerResources } from '../pod/resources.ts';
import { describePod, podUid, type Container, type Pod, type Secret } from '../types.ts';
import type { VolumePaths } from '../volumes/volume-manager.ts';
import { computePodActions, type PodActions } from './compute-pod-actions.ts';
import { ContainerResizer } from './container-resizer.ts';
import { ContainerStarter, StartError } from './container-starter.ts';
import { PodSandboxes } from './pod-sandboxes.ts';
import type { RuntimeManagerConfig } from './runtime-config.ts';
import { swapResources } from './swap.ts';
import { retryAt, type Sandbox, type SyncContext } from './sync-context.ts';

export interface RuntimeSyncResult {
  /** A container or sandbox was created, started or stopped: the runtime has to be read again. */
  readonly acted: boolean;
  /** When failed actions may be retried, in wall-clock milliseconds. */
  readonly retryAt: number | undefined;
}

/**
 * The least time between two restarts of all containers of a pod. They have no back-off, because
 * the containers that have ended are removed. In upstream's kubelet such a container is noticed when
 * the runtime is listed, once per second.
 */
const RESET_PERIOD_MS = 1000;

export class RuntimeManager {
  readonly #config: RuntimeManagerConfig;
  readonly #backoff: Backoff;
  readonly #sandboxes: PodSandboxes;
  readonly #starter: ContainerStarter;
  /** Applies and tracks the resources of containers. */
  readonly resizer: ContainerResizer;
  /** By pod UID and container name: the last reason why the container does not run. */
  readonly #failures = new Map<string, Map<string, StartFailure>>();
  /** By pod UID: the monotonic time of the last restart of all containers. */
  readonly #resetAt = new Map<string, number>();

  constructor(config: RuntimeManagerConfig) {
    this.#config = config;
    this.#backoff = new Backoff(config.clock, config.restartBackoffMs, config.maxRestartBackoffMs);
    this.#sandboxes = new PodSandboxes(config);
    const resourcesOf = (pod: Pod, container: Container): LinuxContainerResources =>
      this.#resourcesOf(pod, container);
    this.resizer = new ContainerResizer({
      clock: config.clock,
      onResized: (success, ms) => config.metrics?.podResized(success, ms),
      runtime: config.runtime,
      logger: config.logger,
      resourcesOf,
    });
    this.#starter = new ContainerStarter({ services: config, resizer: this.resizer, resourcesOf });
  }

  #resourcesOf(pod: Pod, container: Container): LinuxContainerResources {
    const { memoryCapacity, placements, swap } = this.#config;
    const placement = placements?.placement(pod, container);
    const resources = containerResources(pod, container, memoryCapacity, placement);
    if (swap === undefined) return resources;
    const memoryLimit = resources.memoryLimitInBytes ?? 0;
    return { ...resources, ...swapResources(pod, container, memoryLimit, swap) };
  }

  /**
   * Reports whether the pod's handler makes mounts below a mount read-only; undefined if no
   * container of the pod was started yet.
   */
  makesRecursiveReadOnly(uid: string): boolean | undefined {
    return this.#sandboxes.makesRecursiveReadOnly(uid);
  }

  startFailure(uid: string, containerName: string): StartFailure | undefined {
    return this.#failures.get(uid)?.get(containerName);
  }

  /** Drops the state of a pod that is gone. */
  forget(uid: string): void {
    this.#failures.delete(uid);
    this.#sandboxes.forget(uid);
    this.#resetAt.delete(uid);
    this.#backoff.forget(`${uid}_`);
    this.resizer.forget(uid);
    this.#config.imageManager.forget(uid);
    this.#config.networkReadiness?.podForgotten(uid);
  }

  async sync(
    pod: Pod,
    status: RuntimePodStatus,
    pullSecrets: readonly Secret[],
    volumes: VolumePaths,
    signal: AbortSignal,
  ): Promise<RuntimeSyncResult> {
    const context: SyncContext = {
      pod,
      status,
      pullSecrets,
      volumes,
      signal,
      acted: false,
      retryAt: undefined,
    };
    const actions = this.actions(pod, status);
    if (actions.containersToReset.length > 0) {
      const delayMs = this.resetDelayMs(podUid(pod));
      if (delayMs > 0) retryAt(context, this.#config.clock.now() + delayMs);
      else await this.#reset(context, actions.containersToReset);
      return context;
    }
    await this.#kill(context, actions);
    if (!actions.killPod) {
      const killed = new Set(actions.containersToKill.map(({ id }) => id));
      if (!(await this.resizer.resize(pod, status, killed, signal))) {
        retryAt(context, this.#config.clock.now() + this.#config.retryMs);
      }
    }
    const toStart = containersToStart(pod, actions);
    if (
      (actions.killPod && !actions.createSandbox) ||
      (toStart.length === 0 && !actions.createSandbox)
    )
      return context;
    const sandbox = await this.#sandboxes.open(context, actions);
    if (sandbox !== undefined && (await this.#sandboxes.isNetworkReady(context, sandbox))) {
      for (const container of toStart) await this.#tryStart(context, sandbox, container);
    }
    return context;
  }

  /** Returns the actions of this sync. */
  actions(pod: Pod, status: RuntimePodStatus): PodActions {
    return computePodActions(pod, status, this.#config.probes, (container, latest) =>
      this.resizer.needsRestart(pod, container, latest),
    );
  }

  async #kill(context: SyncContext, actions: PodActions): Promise<void> {
    const { pod, status, signal } = context;
    const { killer, events } = this.#config;
    if (actions.killPod) {
      if (actions.createSandbox && actions.sandboxId !== '') {
        events.normal(
          pod,
          'SandboxChanged',
          'Pod sandbox changed, it will be killed and re-created.',
        );
      }
      if (
        status.sandboxes.some((sandbox) => sandbox.ready) ||
        status.containers.some((container) => container.state === 'running')
      ) {
        context.acted = true;
        await killer.killPod(pod, status, undefined, signal);
      }
      if (actions.createSandbox) await this.#removeInitContainers(context);
      return;
    }
    await Promise.all(
      actions.containersToKill.map(async ({ id, message, reason }) => {
        const container = findContainerById(status, id);
        if (container === undefined) return;
        context.acted = true;
        await killer.kill({ pod, status, container, message, reason }, signal);
      }),
    );
  }

  /** Returns the time until all containers of the pod may restart, in milliseconds; 0: now. */
  resetDelayMs(uid: string): number {
    const last = this.#resetAt.get(uid);
    if (last === undefined) return 0;
    return Math.max(0, last + RESET_PERIOD_MS - this.#config.clock.monotonic());
  }

  /** Kills and removes containers, one after the other. They get no grace period. */
  async #reset(context: SyncContext, ids: readonly string[]): Promise<void> {
    const { pod, status, signal } = context;
    const { killer, runtime, clock } = this.#config;
    context.acted = true;
    this.#resetAt.set(podUid(pod), clock.monotonic());
    for (const id of ids) {
      const container = findContainerById(status, id);
      if (container === undefined) continue;
      if (container.state === 'running' || container.state === 'unknown') {
        await killer.kill(
          {
            pod,
            status,
            container,
            message: '',
            reason: 'RestartAllContainers',
            gracePeriodSeconds: 0,
          },
          signal,
        );
      }
      await runtime.removeContainer(id, { signal });
    }
  }

  /**
   * Removes the init containers: in a new sandbox the pod starts from the beginning, so former
   * instances do not count.
   */
  async #removeInitContainers(context: SyncContext): Promise<void> {
    const names = new Set(
      (context.pod.spec.initContainers ?? []).map((container) => container.name),
    );
    for (const container of context.status.containers) {
      if (!names.has(container.name)) continue;
      context.acted = true;
      await this.#config.runtime.removeContainer(container.id, { signal: context.signal });
    }
  }

  async #tryStart(context: SyncContext, sandbox: Sandbox, container: Container): Promise<void> {
    const { pod } = context;
    try {
      this.#checkBackoff(context, container);
      await this.#starter.start(context, sandbox, container);
      const failures = this.#failures.get(podUid(pod));
      failures?.delete(container.name);
      if (failures?.size === 0) this.#failures.delete(podUid(pod));
    } catch (error) {
      context.signal.throwIfAborted();
      const failure =
        error instanceof StartError || error instanceof ImageError
          ? error
          : new StartError('RunContainerError', errorMessage(error));
      const uid = podUid(pod);
      const failures = this.#failures.get(uid) ?? new Map<string, StartFailure>();
      this.#failures.set(
        uid,
        failures.set(container.name, { reason: failure.reason, message: failure.message }),
      );
      if (failure.reason !== 'CrashLoopBackOff' && failure.reason !== 'ImagePullBackOff') {
        this.#config.logger.warn('container not started', {
          pod: describePod(pod),
          container: container.name,
          reason: failure.reason,
          err: error,
        });
      }
      retryAt(context, failure.retryAt ?? this.#config.clock.now() + this.#config.retryMs);
    }
  }

  /** Throws during the back-off of a container that has ended. */
  #checkBackoff(context: SyncContext, container: Container): void {
    const { pod, status } = context;
    const last = status.containers.find(
      (record) => record.name === container.name && record.state === 'exited',
    );
    if (last === undefined) return;
    const key = `${podUid(pod)}_${container.name}_${fnv32a(JSON.stringify(container)).toString(16)}`;
    const until = this.#backoff.blockedUntil(key, last.finishedAt);
    if (until === undefined) {
      this.#backoff.next(key, last.finishedAt);
      return;
    }
    const fullName = `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
    this.#config.events.container(
      pod,
      container,
      'Warning',
      'BackOff',
      `Back-off restarting failed container ${container.name} in pod ${fullName}`,
    );
    const delay = formatDuration(this.#backoff.get(key));
    throw new StartError(
      'CrashLoopBackOff',
      `back-off ${delay} restarting failed container=${container.name} pod=${fullName}`,
      until,
    );
  }
}

/**
 * Returns the containers to start: ephemeral containers first, then init containers, then regular
 * ones.
 */
function containersToStart(pod: Pod, actions: PodActions): readonly Container[] {
  const pick = (list: readonly unknown[] | undefined, indices: readonly number[]): Container[] =>
    indices
      .map((index) => list?.[index] as Container | undefined)
      .filter((container) => container !== undefined);
  return [
    ...pick(pod.spec.ephemeralContainers, actions.ephemeralContainersToStart).map(withResources),
    ...pick(pod.spec.initContainers, actions.initContainersToStart),
    ...pick(pod.spec.containers, actions.containersToStart),
  ];
}

/** Returns the container with its resources; ephemeral containers have none. */
function withResources(container: Container): Container {
  return (container.resources as unknown) === undefined
    ? { ...container, resources: {} }
    : container;
}
