// Starts a container in a sandbox: its images, its configuration, and its postStart hook.

import { mkdir, readdir } from 'node:fs/promises';
import type { ImageSpec, LinuxContainerResources } from '#cri/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { makeEnvironment } from '../env/make-environment.ts';
import { podHostname } from '../hostname.ts';
import { ImageError } from '../images/image-manager.ts';
import { untilAbortedObjects } from '../objects.ts';
import { sortPodIPs } from '../pod/pod-ips.ts';
import {
  type ContainerRecord,
  EMPTY_CONTAINER,
  findContainer,
  type RuntimePodStatus,
} from '../pod/pod-status.ts';
import type { Container, Pod } from '../types.ts';
import { makeDevices } from '../volumes/devices.ts';
import { makeMounts, type ImageVolumes } from '../volumes/mounts.ts';
import { makeContainerConfig } from './container-config.ts';
import type { ContainerResizer } from './container-resizer.ts';
import type { ContainerType, RuntimeManagerConfig } from './runtime-config.ts';
import { podLogDirectory } from './sandbox-config.ts';
import { verifyRunAsNonRoot } from './security-context.ts';
import type { Sandbox, SyncContext } from './sync-context.ts';

/** Why a container was not started; `reason` appears in its `waiting` state. */
export class StartError extends Error {
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

export interface ContainerStarterConfig {
  readonly services: RuntimeManagerConfig;
  readonly resizer: ContainerResizer;
  readonly resourcesOf: (pod: Pod, container: Container) => LinuxContainerResources;
}

export class ContainerStarter {
  readonly #config: RuntimeManagerConfig;
  readonly #resizer: ContainerResizer;
  readonly #resourcesOf: ContainerStarterConfig['resourcesOf'];

  constructor({ services, resizer, resourcesOf }: ContainerStarterConfig) {
    this.#config = services;
    this.#resizer = resizer;
    this.#resourcesOf = resourcesOf;
  }

  /**
   * Creates and starts a container. Rejects with StartError or ImageError, whose reason appears in
   * the status of the container, and with the reason of the signal.
   */
  async start(context: SyncContext, sandbox: Sandbox, container: Container): Promise<void> {
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
    this.#resizer.started(pod, container, containerId);
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
      const record: ContainerRecord = {
        ...EMPTY_CONTAINER,
        state: 'running',
        id: containerId,
        name: container.name,
      };
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
}

function runningTarget(status: RuntimePodStatus, name: string): ContainerRecord {
  const target = findContainer(status, name);
  if (target === undefined) throw new Error(`unable to find target container ${name}`);
  return target;
}
