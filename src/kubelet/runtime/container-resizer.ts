// Applies allocated resources to running containers: through the runtime, or, if the container's
// resize policy requires it, by a restart.

import type { LinuxContainerResources, RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import { errorMessage } from '#machinery/error-message.ts';
import {
  describePod,
  podUid,
  type Container,
  type Pod,
  type ResourceList,
  type ResourceRequirements,
} from '../types.ts';
import {
  findContainer,
  type ContainerRecord,
  type RuntimePodStatus,
  parseContainerId,
} from '../pod/pod-status.ts';
import { amounts, podLimits } from '../pod/resources.ts';

export interface ContainerResizerConfig {
  readonly runtime: RuntimeService;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Called after each attempt, with its duration. */
  readonly onResized?: (success: boolean, ms: number) => void;
  /** Returns the resources of a container. */
  readonly resourcesOf: (pod: Pod, container: Container) => LinuxContainerResources;
}

interface Given {
  readonly id: string;
  readonly resources: ResourceRequirements;
  /** The resources of the whole pod, if it has any. */
  readonly whole: ResourceRequirements | undefined;
}

interface RunningContainer {
  readonly container: Container;
  readonly record: ContainerRecord;
}

export class ContainerResizer {
  readonly #config: ContainerResizerConfig;
  /** By pod UID and container name: the resources that the last instance has. */
  readonly #actual = new Map<string, Map<string, Given>>();
  /** By pod UID: why the last attempt failed. */
  readonly #errors = new Map<string, string>();

  constructor(config: ContainerResizerConfig) {
    this.#config = config;
  }

  /** Records that a container was created with the resources in its spec. */
  started(pod: Pod, container: Container, containerId: string): void {
    this.#given(podUid(pod)).set(container.name, {
      id: containerId,
      resources: container.resources,
      whole: pod.spec.resources,
    });
  }

  /**
   * Returns the actual resources of a container; after a restart of the kubelet, those in the pod's
   * status.
   */
  actual(pod: Pod, container: Container, record: ContainerRecord): ResourceRequirements {
    const known = this.#known(pod, record);
    if (known !== undefined) return known.resources;
    const statuses = [
      ...(pod.status.containerStatuses ?? []),
      ...(pod.status.initContainerStatuses ?? []),
    ];
    const reported = statuses.find(
      ({ containerID }) => parseContainerId(containerID) === record.id,
    );
    return reported?.resources ?? container.resources;
  }

  /**
   * Returns the progress of a resize; undefined if every running container has its allocated
   * resources.
   */
  progress(pod: Pod, status: RuntimePodStatus): { readonly error: string | undefined } | undefined {
    const waiting = this.#changes(pod, status).length > 0;
    return waiting ? { error: this.#errors.get(podUid(pod)) } : undefined;
  }

  needsRestart(pod: Pod, container: Container, record: ContainerRecord): boolean {
    const actual = this.actual(pod, container, record);
    const [actualLimits, limits] = this.#limits(pod, container, record);
    return (container.resizePolicy ?? []).some(
      ({ resourceName, restartPolicy }) =>
        restartPolicy === 'RestartContainer' &&
        (amounts(actual.requests).get(resourceName) !==
          amounts(container.resources.requests).get(resourceName) ||
          actualLimits.get(resourceName) !== limits.get(resourceName)),
    );
  }

  /**
   * Updates the containers that can be resized without a restart. Returns false if an update
   * failed.
   */
  async resize(
    pod: Pod,
    status: RuntimePodStatus,
    stopped: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const uid = podUid(pod);
    const { clock, onResized } = this.#config;
    const begin = clock.monotonic();
    try {
      const changes = this.#changes(pod, status).filter(({ record }) => !stopped.has(record.id));
      if (changes.length > 0) await this.#checkMemory(pod, status, signal);
      for (const { container, record } of changes) {
        const resources = this.#config.resourcesOf(pod, container);
        await this.#config.runtime.updateContainerResources(record.id, resources, { signal });
        this.started(pod, container, record.id);
      }
      this.#errors.delete(uid);
      if (changes.length > 0) onResized?.(true, clock.monotonic() - begin);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      onResized?.(false, clock.monotonic() - begin);
      this.#config.logger.warn('container not resized', { pod: describePod(pod), err: error });
      this.#errors.set(uid, errorMessage(error));
      return false;
    }
  }

  /**
   * Rejects if a memory limit would become lower than the memory that is in use now. This is a
   * best-effort check, which keeps a resize from being done in part.
   */
  async #checkMemory(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    const running = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].flatMap(
      (container) => {
        const record = findContainer(status, container.name);
        return record?.state === 'running' ? [{ container, record }] : [];
      },
    );
    const lowered = running.flatMap(({ container, record }) => {
      const [before, after] = this.#limits(pod, container, record).map((of) => of.get('memory'));
      return isLower(after, before) ? [{ container, record, limit: after }] : [];
    });
    const podLimit = podLimits(pod).get('memory');
    const isPodLower = isLower(podLimit, podLimits(this.#withActual(pod, running)).get('memory'));
    if (!isPodLower && lowered.length === 0) return;
    const usage = await this.#memoryUsage(running[0]?.record.sandboxId ?? '', signal);
    const problems: string[] = [];
    if (isPodLower) {
      const used = [...usage.values()].reduce((sum, bytes) => sum + bytes, 0);
      if (usage.size === 0) problems.push('missing pod memory usage');
      else if (used >= podLimit)
        problems.push(
          `attempting to set pod memory limit (${podLimit}) below current usage (${used})`,
        );
    }
    for (const { container, record, limit } of lowered) {
      const used = usage.get(record.id);
      const what = `container "${container.name}"`;
      if (used === undefined) problems.push(`missing ${what} memory usage`);
      else if (used >= limit)
        problems.push(
          `attempting to set ${what} memory limit (${limit}) below current usage (${used})`,
        );
    }
    if (problems.length === 0) return;
    const all = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
    throw new Error(`cannot decrease memory limits: ${all}`);
  }

  /** Returns the pod with the resources that its running containers and itself have now. */
  #withActual(pod: Pod, running: readonly RunningContainer[]): Pod {
    const actual = new Map(
      running.map(({ container, record }) => [container.name, this.actual(pod, container, record)]),
    );
    const put = (container: Container): Container => ({
      ...container,
      resources: actual.get(container.name) ?? container.resources,
    });
    const { spec } = pod;
    const whole = running.map(({ record }) => this.#actualWhole(pod, record))[0] ?? spec.resources;
    return {
      ...pod,
      spec: {
        ...spec,
        containers: spec.containers.map(put),
        ...(spec.initContainers !== undefined && { initContainers: spec.initContainers.map(put) }),
        ...(whole !== undefined && { resources: whole }),
      },
    };
  }

  /** Returns the memory that each container of a sandbox uses, in bytes, by the container's ID. */
  async #memoryUsage(podSandboxId: string, signal: AbortSignal): Promise<Map<string, number>> {
    const stats = await this.#config.runtime.listContainerStats({ podSandboxId }, { signal });
    return new Map(
      stats.flatMap(({ attributes, memory }) => {
        const used = memory?.usageBytes?.value ?? memory?.workingSetBytes?.value;
        return attributes === undefined || used === undefined ? [] : [[attributes.id ?? '', used]];
      }),
    );
  }

  forget(uid: string): void {
    this.#actual.delete(uid);
    this.#errors.delete(uid);
  }

  #changes(pod: Pod, status: RuntimePodStatus): readonly RunningContainer[] {
    return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].flatMap((container) => {
      const record = findContainer(status, container.name);
      if (record?.state !== 'running') return [];
      const [actualLimits, limits] = this.#limits(pod, container, record);
      return semanticEqual(this.actual(pod, container, record), container.resources) &&
        ['cpu', 'memory'].every((name) => actualLimits.get(name) === limits.get(name))
        ? []
        : [{ container, record }];
    });
  }

  /** Returns the actual limits of a container, and those that it should have. */
  #limits(
    pod: Pod,
    container: Container,
    record: ContainerRecord,
  ): readonly [ReadonlyMap<string, number>, ReadonlyMap<string, number>] {
    return [
      limitsOf(this.#actualWhole(pod, record), this.actual(pod, container, record)),
      limitsOf(pod.spec.resources, container.resources),
    ];
  }

  /** Returns the pod-level resources that were in effect when a container got its resources. */
  #actualWhole(pod: Pod, record: ContainerRecord): ResourceRequirements | undefined {
    const { resources: whole } = pod.spec;
    const known = this.#known(pod, record);
    if (known !== undefined || whole === undefined) return known?.whole;
    const reported = pod.status.resources;
    if (reported === undefined) return whole;
    // The status also has what only the containers ask for.
    return {
      limits: onlyNamed(reported.limits, whole.limits),
      requests: onlyNamed(reported.requests, whole.requests),
    };
  }

  /** Returns the resources that this kubelet has given to an instance of a container. */
  #known(pod: Pod, record: ContainerRecord): Given | undefined {
    const known = this.#actual.get(podUid(pod))?.get(record.name);
    return known?.id === record.id ? known : undefined;
  }

  #given(uid: string): Map<string, Given> {
    const given = this.#actual.get(uid) ?? new Map<string, Given>();
    this.#actual.set(uid, given);
    return given;
  }
}

/** Returns the amounts of those resources that another list has, too. */
function onlyNamed(list: ResourceList | undefined, other: ResourceList | undefined): ResourceList {
  return Object.fromEntries(
    Object.entries(list ?? {}).filter(([name]) => other?.[name] !== undefined),
  );
}

/** Reports whether a limit is added or lowered. */
const isLower = (after: number | undefined, before: number | undefined): after is number =>
  after !== undefined && (before === undefined || after < before);

/** Returns the limits of a container: without its own it has those of the whole pod. */
function limitsOf(
  whole: ResourceRequirements | undefined,
  own: ResourceRequirements,
): ReadonlyMap<string, number> {
  return new Map([...amounts(whole?.limits), ...amounts(own.limits)]);
}
