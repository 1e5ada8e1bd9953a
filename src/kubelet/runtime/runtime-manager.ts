// Carries out the decision of computePodActions: kills containers, creates sandboxes, starts
// containers, in this order. A failure (an image that cannot be pulled, a container in back-off) is
// recorded as the reason why the container waits, and retried when its back-off ends.

import { mkdir, readdir } from 'node:fs/promises';
import type {
  ImageService,
  ImageSpec,
  LinuxContainerResources,
  PodSandboxConfig,
  RuntimeService,
} from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { formatDuration } from '#machinery/text/duration.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { ContainerDevices } from '../devices/container-devices.ts';
import { podDns, type DnsSettings } from '../dns.ts';
import { makeEnvironment } from '../env/make-environment.ts';
import type { DownwardContext } from '../env/downward.ts';
import type { ServiceVariables } from '../env/service-variables.ts';
import type { PodEvents } from '../events.ts';
import { TimeoutError, withTimeout } from '../handlers/timeout.ts';
import type { HookRunner } from '../handlers/hooks.ts';
import { podHostname } from '../hostname.ts';
import { ImageError, type ImageManager } from '../images/image-manager.ts';
import type { NetworkReadiness } from '../network-readiness.ts';
import { untilAbortedObjects, type ObjectSource } from '../objects.ts';
import { seccompDir } from '../paths.ts';
import { describePod, podUid, type Container, type Pod, type Secret } from '../types.ts';
import { makeDevices } from '../volumes/devices.ts';
import type { UserNamespace } from '../user-namespaces/user-namespaces.ts';
import type { Mounter } from '../volumes/mounter.ts';
import { makeMounts, type ImageVolumes } from '../volumes/mounts.ts';
import type { VolumePaths } from '../volumes/volume-manager.ts';
import { Backoff } from '../backoff.ts';
import { computePodActions, type PodActions, type ProbeVerdicts } from './compute-pod-actions.ts';
import { ContainerResizer } from './container-resizer.ts';
import { type SwapFacts, swapResources } from './swap.ts';
import { makeContainerConfig } from './container-config.ts';
import { fnv32a } from '#machinery/text/hash.ts';
import type { ContainerKiller } from './kill.ts';
import {
  findContainer,
  findContainerById,
  podIPs,
  type ContainerRecord,
  type RuntimePodStatus,
  type SandboxRecord,
  type StartFailure,
} from '../pod/pod-status.ts';
import { sortPodIPs } from '../pod/pod-ips.ts';
import { readSandbox } from './read-status.ts';
import {
  containerResources,
  overheadResources,
  type Placement,
  sandboxResources,
} from '../pod/resources.ts';
import { makeSandboxConfig, podLogDirectory } from './sandbox-config.ts';
import { type PodSecurity, verifyRunAsNonRoot } from './security-context.ts';

export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

/** The metrics of the runtime manager. */
export interface RuntimeMetrics {
  /** Counts a start. `userNamespace`: whether the pod has a user namespace of its own. */
  sandboxStarted(failed: boolean, userNamespace: boolean): void;
  /**
   * Counts a start. `code`: the reason of a failure, such as RunContainerError; absent if the
   * container runs.
   */
  containerStarted(type: ContainerType, code?: string): void;
  imageVolumes(event: 'requested' | 'mounted' | 'failed', count: number): void;
  podResized(success: boolean, ms: number): void;
}

/** Where containers run. */
export interface Placements {
  placement(pod: Pod, container: Container): Placement;
  /** Reports whether a container of the pod has exclusive CPUs. */
  hasExclusiveCpus(pod: Pod): boolean;
  /** Called when a container has been created with its placement. */
  containerStarts(pod: Pod, container: Container, id: string): void;
}

export interface RuntimeManagerConfig {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  readonly imageManager: ImageManager;
  readonly killer: ContainerKiller;
  readonly hooks: HookRunner;
  readonly probes: ProbeVerdicts;
  readonly events: PodEvents;
  readonly objects: ObjectSource;
  readonly services: ServiceVariables;
  /** The inputs of the downward API, except the addresses of the pod. */
  readonly downward: () => DownwardContext;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly mounter: Mounter;
  /**
   * Prepares the ResourceClaims of a pod before its sandbox is created. Rejects with the reason why
   * the pod has to wait.
   */
  readonly prepareResources?: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** Returns the devices of a container. Absent: containers have none. */
  readonly containerDevices?: (
    pod: Pod,
    container: Container,
    signal: AbortSignal,
  ) => Promise<ContainerDevices>;
  /** Decides on which CPUs and NUMA nodes containers run. Absent: on all. */
  readonly placements?: Placements;
  /** How containers use swap; undefined if the kernel cannot limit it. */
  readonly swap: SwapFacts | undefined;
  readonly dns: DnsSettings;
  /** The node's own /etc/hosts, as text. */
  readonly nodeHosts: () => Promise<string>;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly hostFiles: boolean;
  readonly metrics?: RuntimeMetrics;
  /** The node's memory, in bytes. */
  readonly memoryCapacity: number;
  /** Returns the cgroup of a pod; '': the runtime chooses one. */
  readonly cgroupParent: (pod: Pod) => string;
  /** Returns the user namespace of a pod; rejects if the handler of the runtime has none. */
  readonly userNamespace: (pod: Pod, runtimeHandler: string) => Promise<UserNamespace>;
  /** Reports whether the handler of the runtime makes mounts below a mount read-only, too. */
  readonly recursiveReadOnly: (runtimeHandler: string) => Promise<boolean>;
  /** The seccomp profile of containers whose pod asks for none. */
  readonly seccompDefault: 'RuntimeDefault' | 'Unconfined';
  /** Returns the handler of a runtime class; rejects if the class does not exist. */
  readonly runtimeHandler: (runtimeClassName: string) => Promise<string>;
  /** Called after a sandbox was created. */
  readonly onSandbox: (sandbox: SandboxRecord) => void;
  readonly networkReadiness?: NetworkReadiness;
  /** The initial and the maximum delay between restarts of a container, in milliseconds. */
  readonly restartBackoffMs: number;
  readonly maxRestartBackoffMs: number;
  /** The delay before a failure without its own back-off is retried, in milliseconds. */
  readonly retryMs: number;
}

export interface RuntimeSyncResult {
  /** A container or sandbox was created, started or stopped: the runtime has to be read again. */
  readonly acted: boolean;
  /** When failed actions may be retried, in wall-clock milliseconds. */
  readonly retryAt: number | undefined;
}

/** Why a container was not started; `reason` appears in its `waiting` state. */
class StartError extends Error {
  readonly reason: string;
  readonly retryAt: number | undefined;

  constructor(reason: string, message: string, retryAt?: number, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
    this.retryAt = retryAt;
  }
}

function containerType({ spec }: Pod, { name }: Container): ContainerType {
  const isIn = (list: readonly { readonly name: string }[] | undefined): boolean =>
    list?.some((container) => container.name === name) === true;
  if (isIn(spec.initContainers)) return 'init_container';
  return isIn(spec.ephemeralContainers) ? 'ephemeral_container' : 'container';
}

/**
 * How long containers wait for the network; then an event is recorded, and the start is retried.
 */
const NETWORK_TIMEOUT_MS = 30_000;
/**
 * The least time between two restarts of all containers of a pod. They have no back-off, because
 * the containers that have ended are removed. In upstream's kubelet such a container is noticed when
 * the runtime is listed, once per second.
 */
const RESET_PERIOD_MS = 1000;

interface SyncContext {
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly pullSecrets: readonly Secret[];
  readonly volumes: VolumePaths;
  readonly signal: AbortSignal;
  acted: boolean;
  retryAt: number | undefined;
}

interface Sandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly security: PodSecurity;
  /** Whether the runtime's handler can make mounts below a mount read-only. */
  readonly recursiveReadOnly: boolean;
  readonly ips: readonly string[];
}

export class RuntimeManager {
  readonly #config: RuntimeManagerConfig;
  readonly #backoff: Backoff;
  /** Applies and tracks the resources of containers. */
  readonly resizer: ContainerResizer;
  /** By pod UID and container name: the last reason why the container does not run. */
  readonly #failures = new Map<string, Map<string, StartFailure>>();
  /** By pod UID: whether the pod's handler makes mounts below a mount read-only. */
  readonly #recursiveReadOnly = new Map<string, boolean>();
  /** By pod UID: the monotonic time of the last restart of all containers. */
  readonly #resetAt = new Map<string, number>();

  constructor(config: RuntimeManagerConfig) {
    this.#config = config;
    this.#backoff = new Backoff(config.clock, config.restartBackoffMs, config.maxRestartBackoffMs);
    this.resizer = new ContainerResizer({
      clock: config.clock,
      onResized: (success, ms) => config.metrics?.podResized(success, ms),
      runtime: config.runtime,
      logger: config.logger,
      resourcesOf: (pod, container) => this.#resourcesOf(pod, container),
    });
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
    return this.#recursiveReadOnly.get(uid);
  }

  startFailure(uid: string, containerName: string): StartFailure | undefined {
    return this.#failures.get(uid)?.get(containerName);
  }

  /** Drops the state of a pod that is gone. */
  forget(uid: string): void {
    this.#failures.delete(uid);
    this.#recursiveReadOnly.delete(uid);
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
      if (delayMs > 0) this.#retryAt(context, this.#config.clock.now() + delayMs);
      else await this.#reset(context, actions.containersToReset);
      return context;
    }
    await this.#kill(context, actions);
    if (!actions.killPod) {
      const killed = new Set(actions.containersToKill.map(({ id }) => id));
      if (!(await this.resizer.resize(pod, status, killed, signal))) {
        this.#retryAt(context, this.#config.clock.now() + this.#config.retryMs);
      }
    }
    const toStart = containersToStart(pod, actions);
    if (
      (actions.killPod && !actions.createSandbox) ||
      (toStart.length === 0 && !actions.createSandbox)
    )
      return context;
    const sandbox = await this.#sandbox(context, actions);
    if (sandbox !== undefined && (await this.#isNetworkReady(context, sandbox))) {
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

  /**
   * Returns the sandbox in which containers are started, and creates it if needed; undefined if
   * that failed.
   */
  async #sandbox(context: SyncContext, actions: PodActions): Promise<Sandbox | undefined> {
    const { pod, status } = context;
    const { runtime, events } = this.#config;
    const nodeIP = this.#config.downward().hostIPs[0];
    try {
      // Starts of containers in an existing sandbox seldom need the handler.
      const isHandlerNeeded = actions.createSandbox || needsFeatures(pod);
      const handler = isHandlerNeeded ? await this.#runtimeHandler(pod) : '';
      const recursiveReadOnly =
        needsFeatures(pod) && (await this.#config.recursiveReadOnly(handler));
      this.#recursiveReadOnly.set(podUid(pod), recursiveReadOnly);
      // First, so that its warnings are recorded whatever fails later, as in upstream's kubelet.
      const dnsConfig = podDns(pod, this.#config.dns, this.#config.events);
      const security = await this.#podSecurity(pod, handler);
      const config = this.#sandboxConfig(pod, actions.attempt, security, dnsConfig);
      if (!actions.createSandbox)
        return {
          id: actions.sandboxId,
          config,
          security,
          recursiveReadOnly,
          ips: sortPodIPs(podIPs(status), nodeIP),
        };
      if (!(await this.#areResourcesPrepared(context))) return undefined;
      if (this.#config.hostFiles)
        await mkdir(config.logDirectory ?? '', { recursive: true, mode: 0o755 });
      const options = { signal: context.signal, timeoutMs: 240_000 };
      const id = await runtime.runPodSandbox(config, handler, options);
      this.#config.metrics?.sandboxStarted(false, pod.spec.hostUsers === false);
      context.acted = true;
      const made = await readSandbox(runtime, {
        id,
        state: 'SANDBOX_READY',
        createdAt: this.#config.clock.now() * 1e6,
        metadata: {
          name: pod.metadata.name,
          namespace: pod.metadata.namespace ?? '',
          uid: podUid(pod),
          attempt: actions.attempt,
        },
        labels: {},
        annotations: {},
        runtimeHandler: handler,
      });
      if (made !== undefined) this.#config.onSandbox(made);
      const ips = sortPodIPs(made?.ips ?? [], nodeIP);
      return { id, config, security, recursiveReadOnly, ips };
    } catch (error) {
      context.signal.throwIfAborted();
      if (actions.createSandbox)
        this.#config.metrics?.sandboxStarted(true, pod.spec.hostUsers === false);
      const message = `Failed to create pod sandbox: ${errorMessage(error)}`;
      this.#config.logger.warn('pod sandbox not made', { pod: describePod(pod), err: error });
      events.warning(pod, 'FailedCreatePodSandBox', message);
      this.#retryAt(context, this.#config.clock.now() + this.#config.retryMs);
      return undefined;
    }
  }

  /** Prepares the pod's ResourceClaims. Returns false if that failed and has to be retried. */
  async #areResourcesPrepared(context: SyncContext): Promise<boolean> {
    const { prepareResources, events, logger, clock, retryMs } = this.#config;
    const { pod, signal } = context;
    try {
      await prepareResources?.(pod, signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('dynamic resources not prepared', { pod: describePod(pod), err: error });
      events.warning(
        pod,
        'FailedPrepareDynamicResources',
        `Failed to prepare dynamic resources: ${errorMessage(error)}`,
      );
      this.#retryAt(context, clock.now() + retryMs);
      return false;
    }
  }

  /**
   * Waits until the pod's network policies are enforced. Returns false if it took too long, so that
   * the containers have to wait.
   */
  async #isNetworkReady(context: SyncContext, sandbox: Sandbox): Promise<boolean> {
    const { networkReadiness, clock, events, logger, retryMs } = this.#config;
    const { pod, signal } = context;
    if (networkReadiness === undefined || pod.spec.hostNetwork === true) return true;
    try {
      await withTimeout(clock, NETWORK_TIMEOUT_MS, signal, (limited) =>
        networkReadiness.podAddressesReady(pod, sandbox.ips, limited),
      );
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const reason =
        error instanceof TimeoutError
          ? 'network policies are not programmed yet'
          : errorMessage(error);
      logger.warn('pod network not ready', { pod: describePod(pod), reason });
      events.warning(pod, 'NetworkNotReady', `network is not ready: ${reason}`);
      this.#retryAt(context, clock.now() + retryMs);
      return false;
    }
  }

  async #runtimeHandler({ spec: { runtimeClassName } }: Pod): Promise<string> {
    return runtimeClassName === undefined
      ? ''
      : await this.#config.runtimeHandler(runtimeClassName);
  }

  async #podSecurity(pod: Pod, runtimeHandler: string): Promise<PodSecurity> {
    const { rootDir, seccompDefault, userNamespace } = this.#config;
    return {
      seccompRoot: seccompDir(rootDir),
      seccompDefault,
      userNamespace: await userNamespace(pod, runtimeHandler),
    };
  }

  #sandboxConfig(
    pod: Pod,
    attempt: number,
    security: PodSecurity,
    dnsConfig: ReturnType<typeof podDns>,
  ): PodSandboxConfig {
    const { dns, podLogsDir, cgroupParent, placements } = this.#config;
    return makeSandboxConfig({
      pod,
      attempt,
      hostname: podHostname(pod, dns.clusterDomain).effective,
      dnsConfig,
      podLogsDir,
      security,
      cgroupParent: cgroupParent(pod),
      resources: sandboxResources(pod, placements?.hasExclusiveCpus(pod) !== true),
      overhead: overheadResources(pod),
    });
  }

  async #tryStart(context: SyncContext, sandbox: Sandbox, container: Container): Promise<void> {
    const { pod } = context;
    try {
      this.#checkBackoff(context, container);
      await this.#start(context, sandbox, container);
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
      this.#retryAt(context, failure.retryAt ?? this.#config.clock.now() + this.#config.retryMs);
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

  async #start(context: SyncContext, sandbox: Sandbox, container: Container): Promise<void> {
    const { metrics } = this.#config;
    const type = containerType(context.pod, container);
    try {
      await this.#startUncounted(context, sandbox, container);
      metrics?.containerStarted(type);
    } catch (error) {
      // A start that was aborted because the pod changed is not a failure.
      if (!context.signal.aborted)
        metrics?.containerStarted(type, error instanceof StartError ? error.reason : 'Error');
      throw error;
    }
  }

  async #startUncounted(
    context: SyncContext,
    sandbox: Sandbox,
    container: Container,
  ): Promise<void> {
    const { runtime, events, imageManager, metrics } = this.#config;
    const { pod, signal } = context;
    const report = (message: string): void =>
      events.container(pod, container, 'Warning', 'Failed', `Error: ${message}`);

    let imageVolumes: ImageVolumes;
    let imageRef: string;
    try {
      imageVolumes = await this.#imageVolumes(context, sandbox, container);
      const wanted = { name: container.image ?? '', policy: container.imagePullPolicy, container };
      imageRef = await imageManager.ensureImage(
        pod,
        wanted,
        context.pullSecrets,
        sandbox.config,
        signal,
      );
    } catch (error) {
      if (error instanceof ImageError) report(error.reason);
      throw error;
    }

    let containerId: string;
    try {
      const config = await this.#containerConfig(
        context,
        sandbox,
        container,
        imageRef,
        imageVolumes,
      );
      try {
        containerId = await runtime.createContainer(sandbox.id, config, sandbox.config, { signal });
        metrics?.imageVolumes('mounted', imageVolumes.size);
      } catch (error) {
        metrics?.imageVolumes('failed', imageVolumes.size);
        throw signal.aborted
          ? error
          : new StartError('CreateContainerError', errorMessage(error), undefined, error);
      }
    } catch (error) {
      signal.throwIfAborted();
      report(errorMessage(error));
      throw error instanceof StartError
        ? error
        : new StartError('CreateContainerConfigError', errorMessage(error), undefined, error);
    }
    this.resizer.started(pod, container, containerId);
    this.#config.placements?.containerStarts(pod, container, containerId);
    context.acted = true;
    events.container(pod, container, 'Normal', 'Created', 'Container created');

    try {
      await runtime.startContainer(containerId, { signal });
    } catch (error) {
      signal.throwIfAborted();
      report(errorMessage(error));
      throw new StartError('RunContainerError', errorMessage(error), undefined, error);
    }
    events.container(pod, container, 'Normal', 'Started', 'Container started');
    await this.#postStart(context, sandbox, container, containerId);
  }

  /** Pulls the images that the container mounts as volumes. Rejects with ImageError. */
  async #imageVolumes(
    context: SyncContext,
    sandbox: Sandbox,
    container: Container,
  ): Promise<ImageVolumes> {
    const { pod, pullSecrets, signal } = context;
    const volumes = new Map<string, ImageSpec>();
    for (const { name, image } of pod.spec.volumes ?? []) {
      if (
        image === undefined ||
        !(container.volumeMounts ?? []).some((mount) => mount.name === name)
      )
        continue;
      this.#config.metrics?.imageVolumes('requested', 1);
      const wanted = { name: image.reference ?? '', policy: image.pullPolicy };
      const reference = await this.#config.imageManager.ensureImage(
        pod,
        wanted,
        pullSecrets,
        sandbox.config,
        signal,
      );
      volumes.set(name, {
        image: reference,
        userSpecifiedImage: wanted.name,
        annotations: pod.metadata.annotations ?? {},
      });
    }
    return volumes;
  }

  async #containerConfig(
    context: SyncContext,
    sandbox: Sandbox,
    container: Container,
    imageRef: string,
    imageVolumes: ImageVolumes,
  ) {
    const { pod, status, volumes } = context;
    const config = this.#config;
    const nonRoot =
      container.securityContext?.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot;
    if (nonRoot === true) {
      const { image } = await config.images.imageStatus(
        { image: imageRef },
        { signal: context.signal },
      );
      const problem = verifyRunAsNonRoot(pod, container, {
        uid: image?.uid?.value,
        username: image?.username ?? '',
      });
      if (problem !== undefined) throw new Error(problem);
    }
    const downward = { ...config.downward(), podIPs: this.#podIPs(pod, sandbox) };
    const assigned = await config.containerDevices?.(pod, container, context.signal);
    const own = await makeEnvironment({
      pod,
      container,
      services: config.services,
      objects: untilAbortedObjects(config.objects, context.signal),
      downward,
      ...(config.hostFiles && { volumePath: (name) => volumes.get(name) }),
      onInvalidNames: (message) =>
        config.events.warning(pod, 'InvalidEnvironmentVariableNames', message),
    });
    const environment = assigned === undefined ? own : new Map([...assigned.envs, ...own]);
    const hostNetwork = pod.spec.hostNetwork === true;
    const mounts = await makeMounts({
      pod,
      container,
      volumes,
      imageVolumes,
      environment,
      hostname: podHostname(pod, config.dns.clusterDomain),
      podIPs: downward.podIPs,
      nodeHosts: hostNetwork && config.hostFiles ? await config.nodeHosts() : undefined,
      rootDir: config.rootDir,
      mounter: config.mounter,
      random: config.random,
      recursiveReadOnly: sandbox.recursiveReadOnly,
      hostFiles: config.hostFiles,
    });
    const restartCount = await this.#restartCount(pod, container, status);
    const targetName = (container as { readonly targetContainerName?: string }).targetContainerName;
    const targetId = targetName === undefined ? undefined : runningTarget(status, targetName).id;
    if (config.hostFiles) {
      await mkdir(`${podLogDirectory(config.podLogsDir, pod)}/${container.name}`, {
        recursive: true,
        mode: 0o755,
      });
    }
    return makeContainerConfig({
      pod,
      container,
      restartCount,
      imageRef,
      environment,
      mounts,
      ...(assigned !== undefined && { assigned }),
      devices: config.hostFiles ? makeDevices(pod, container, volumes) : [],
      security: sandbox.security,
      resources: this.#resourcesOf(pod, container),
      ...(targetId !== undefined ? { targetId } : {}),
    });
  }

  #podIPs(pod: Pod, sandbox: Sandbox): readonly string[] {
    if (pod.spec.hostNetwork !== true) return sandbox.ips;
    const { hostIPs } = this.#config.downward();
    return sortPodIPs(hostIPs, hostIPs[0]);
  }

  /**
   * Returns the restart count of the next instance: one more than the last one's. If the runtime
   * has none, the names of log files are used.
   */
  async #restartCount(pod: Pod, container: Container, status: RuntimePodStatus): Promise<number> {
    const latest = findContainer(status, container.name);
    if (latest !== undefined) return latest.restartCount + 1;
    if (!this.#config.hostFiles) return 0;
    try {
      const names = await readdir(
        `${podLogDirectory(this.#config.podLogsDir, pod)}/${container.name}`,
      );
      const counts = names
        .map((name) => /^(\d+)\.log/.exec(name)?.[1])
        .filter((count) => count !== undefined);
      return counts.length === 0 ? 0 : Math.max(...counts.map(Number)) + 1;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw error;
    }
  }

  /**
   * Runs the postStart hook beside the container. If it fails, the container is killed, and
   * restarted by its policy.
   */
  async #postStart(
    context: SyncContext,
    sandbox: Sandbox,
    container: Container,
    containerId: string,
  ): Promise<void> {
    const handler = container.lifecycle?.postStart;
    if (handler === undefined) return;
    const { pod, status, signal } = context;
    const { hooks, events, killer } = this.#config;
    try {
      await hooks.run(
        pod,
        container,
        containerId,
        this.#podIPs(pod, sandbox)[0] ?? '',
        handler,
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      events.container(pod, container, 'Warning', 'FailedPostStartHook', 'PostStartHook failed');
      const record = { ...EMPTY_RECORD, id: containerId, name: container.name };
      await killer.kill(
        {
          pod,
          status,
          container: record,
          message: 'FailedPostStartHook',
          reason: 'FailedPostStartHook',
        },
        signal,
      );
      throw new StartError('PostStartHookError', errorMessage(error), undefined, error);
    }
  }

  #retryAt(context: SyncContext, time: number): void {
    context.retryAt = Math.min(context.retryAt ?? Number.POSITIVE_INFINITY, time);
  }
}

const EMPTY_RECORD: ContainerRecord = {
  id: '',
  name: '',
  sandboxId: '',
  state: 'running',
  createdAt: 0,
  startedAt: 0,
  finishedAt: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: '',
  imageRef: '',
  hash: '',
  restartCount: 0,
  logPath: '',
  gracePeriodSeconds: undefined,
  user: undefined,
  stopSignal: undefined,
};

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

/** Reports whether the pod asks for what only some handlers of runtimes can do. */
function needsFeatures({ spec }: Pod): boolean {
  const containers = [
    ...spec.containers,
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  return (
    spec.hostUsers === false ||
    containers.some(({ volumeMounts = [] }) =>
      volumeMounts.some(({ recursiveReadOnly }) => recursiveReadOnly !== undefined),
    )
  );
}

function runningTarget(status: RuntimePodStatus, name: string): ContainerRecord {
  const target = findContainer(status, name);
  if (target === undefined) throw new Error(`unable to find target container ${name}`);
  return target;
}
