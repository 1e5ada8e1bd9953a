// Applies allocated resources to running containers: through the runtime, or, if the container's
// resize policy requires it, by a restart.

import type { LinuxContainerResources, RuntimeService } from '#cri/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import { errorMessage } from '#machinery/error-message.ts';
import {
  describePod,
  podUid,
  type Container,
  type Pod,
  type ResourceRequirements,
} from '../types.ts';
import {
  findContainer,
  type ContainerRecord,
  type RuntimePodStatus,
  parseContainerId,
} from '../pod/pod-status.ts';
import { amounts } from '../pod/resources.ts';

export interface ContainerResizerConfig {
  readonly runtime: RuntimeService;
  readonly logger: Logger;
  /** Returns the resources of a container. */
  readonly resourcesOf: (pod: Pod, container: Container) => LinuxContainerResources;
}

interface Given {
  readonly id: string;
  readonly resources: ResourceRequirements;
  /** The resources of the whole pod, if it has any. */
  readonly whole: ResourceRequirements | undefined;
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
    try {
      for (const { container, record } of this.#changes(pod, status)) {
        if (stopped.has(record.id)) continue;
        const resources = this.#config.resourcesOf(pod, container);
        await this.#config.runtime.updateContainerResources(record.id, resources, { signal });
        this.started(pod, container, record.id);
      }
      this.#errors.delete(uid);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      this.#config.logger.warn('container not resized', { pod: describePod(pod), err: error });
      this.#errors.set(uid, errorMessage(error));
      return false;
    }
  }

  forget(uid: string): void {
    this.#actual.delete(uid);
    this.#errors.delete(uid);
  }

  #changes(
    pod: Pod,
    status: RuntimePodStatus,
  ): readonly { readonly container: Container; readonly record: ContainerRecord }[] {
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
    const { resources: whole } = pod.spec;
    const known = this.#known(pod, record);
    const actualWhole =
      known !== undefined || whole === undefined ? known?.whole : (pod.status.resources ?? whole);
    return [
      limitsOf(actualWhole, this.actual(pod, container, record)),
      limitsOf(whole, container.resources),
    ];
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

/** Returns the limits of a container: without its own it has those of the whole pod. */
function limitsOf(
  whole: ResourceRequirements | undefined,
  own: ResourceRequirements,
): ReadonlyMap<string, number> {
  return new Map([...amounts(whole?.limits), ...amounts(own.limits)]);
}
