// The devices of the node's pods, from device plugins and ResourceClaims: what admission, sandboxes,
// container configurations and statuses need to know of them.

import type { Logger } from '#machinery/log.ts';
import type { Rejection } from './admission.ts';
import { type ContainerDevices, NO_DEVICES } from './devices/container-devices.ts';
import type { DeviceHooks, DeviceManager } from './devices/device-manager.ts';
import { type RegistrationConfig, serveRegistrations } from './devices/registration.ts';
import { claimHealth } from './dra/claim-health.ts';
import type { DraManager } from './dra/dra-manager.ts';
import type { NodeDeviceFacts } from './node/node-status.ts';
import {
  allocatableMessages,
  claimMessages,
  deviceMessages,
  memoryMessages,
} from './pod-resources/container-resources.ts';
import type { ContainerMessage } from './pod-resources/server.ts';
import type {
  DeviceHintProvider,
  ResourceManagers,
} from './resource-managers/resource-managers.ts';
import {
  podUid,
  type Container,
  type ContainerStatus,
  type Pod,
  type ResourceList,
} from './types.ts';

export interface NodeDevicesConfig {
  /** Device plugins. Absent on a simulated node. */
  readonly plugins?: RegistrationConfig;
  /** Assigns CPUs and memory, and aligns devices with them. Absent on a simulated node. */
  readonly managers?: ResourceManagers;
  readonly claims: DraManager;
  readonly logger: Logger;
  /** Aborts when the kubelet stops. */
  readonly signal: AbortSignal;
}

export class NodeDevices {
  readonly #config: NodeDevicesConfig;

  constructor(config: NodeDevicesConfig) {
    this.#config = config;
  }

  get #manager(): DeviceManager | undefined {
    return this.#config.plugins?.manager;
  }

  /**
   * Reads the devices of pods from the last run, and lets device plugins register. If their socket
   * cannot be made, the kubelet runs without device plugins.
   */
  async start(hooks: DeviceHooks): Promise<void> {
    const { plugins, logger, signal } = this.#config;
    if (plugins === undefined) return;
    await plugins.manager.start(hooks);
    try {
      await serveRegistrations(plugins, signal);
    } catch (error) {
      logger.error('device manager: registration socket not made', { err: error });
    }
  }

  /** Returns the devices for the Node's status; undefined on a simulated node. */
  facts(): NodeDeviceFacts | undefined {
    const manager = this.#manager;
    return manager && { ...manager.capacity(), isNewNode: manager.takeIsNew() };
  }

  /** Returns the allocatable resources for the admission of the pod. */
  allocatableFor(pod: Pod, base: ResourceList): ResourceList {
    return this.#manager?.allocatableFor(pod, base) ?? base;
  }

  /**
   * Allocates the devices, exclusive CPUs and memory of a pod. Returns, or resolves with, the reason
   * why it cannot run; undefined if there is none.
   */
  admit(pod: Pod): Promise<Rejection | undefined> | Rejection | undefined {
    const { managers, signal } = this.#config;
    return managers?.admit(pod, this.#hintProvider(), signal);
  }

  #hintProvider(): DeviceHintProvider | undefined {
    const manager = this.#manager;
    if (manager === undefined) return undefined;
    return {
      needs: (pod) => manager.needs(pod),
      hints: (pod, container) => manager.hints(pod, container),
      podHints: (pod) => manager.podHints(pod),
      allocate: (pod, container, hint, signal) => manager.allocateFor(pod, container, hint, signal),
    };
  }

  /** Prepares the pod's ResourceClaims. */
  prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    return this.#config.claims.prepare(pod, signal);
  }

  /** Unprepares the pod's ResourceClaims, after its containers have ended. */
  unprepare(pod: Pod, signal: AbortSignal): Promise<void> {
    return this.#config.claims.unprepare(pod, signal);
  }

  /** Returns what devices add to the container's configuration. */
  async containerDevices(
    pod: Pod,
    container: Container,
    signal: AbortSignal,
  ): Promise<ContainerDevices> {
    const claimed = this.#config.claims.cdiDevices(pod, container);
    const devices = (await this.#manager?.containerDevices(pod, container, signal)) ?? NO_DEVICES;
    if (claimed.length === 0) return devices;
    return { ...devices, cdiDevices: [...new Set([...claimed, ...devices.cdiDevices])] };
  }

  /** Returns the container's devices for the API of pod resources. */
  resourcesOf(pod: Pod, container: Container): ContainerMessage {
    const { managers, claims } = this.#config;
    return {
      devices: deviceMessages(this.#manager?.devicesOf(podUid(pod), container.name) ?? []),
      cpuIds: managers?.cpusOf(pod, container) ?? [],
      memory: memoryMessages(managers?.memoryOf(pod, container) ?? []),
      dynamicResources: claimMessages(claims.claimInfos(pod, container)),
    };
  }

  /** Returns all healthy devices of the node, and the CPUs and memory for containers. */
  allocatable(): Pick<ContainerMessage, 'devices' | 'cpuIds' | 'memory'> {
    const { cpus, memory } = this.#config.managers?.allocatable() ?? { cpus: [], memory: [] };
    return {
      devices: allocatableMessages(this.#manager?.allocatableDevices() ?? new Map()),
      cpuIds: cpus,
      memory: memoryMessages(memory),
    };
  }

  /** Releases the devices, CPUs and memory of pods that have ended. */
  releaseInactive(): void {
    this.#manager?.releaseInactive();
    this.#config.managers?.releaseInactive();
  }

  /** Returns the status with the health of the container's devices. */
  withHealth(pod: Pod, status: ContainerStatus): ContainerStatus {
    const byResource = new Map<string, { resourceID: string; health: string }[]>();
    for (const { resource, id, isHealthy } of this.#manager?.devicesOf(podUid(pod), status.name) ??
      []) {
      const list = byResource.get(resource) ?? [];
      byResource.set(resource, list);
      list.push({ resourceID: id, health: isHealthy ? 'Healthy' : 'Unhealthy' });
    }
    const container = pod.spec.containers.find(({ name }) => name === status.name);
    const health = [
      ...[...byResource].map(([name, resources]) => ({ name, resources })),
      ...(container === undefined ? [] : claimHealth(this.#config.claims, pod, container)),
    ];
    return health.length === 0 ? status : { ...status, allocatedResourcesStatus: health };
  }
}
