// The devices of the node's pods, from device plugins and ResourceClaims: what admission, sandboxes,
// container configurations and statuses need to know of them.

import type { Logger } from '#machinery/log.ts';
import { errorMessage } from '#machinery/error-message.ts';
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
} from './pod-resources/container-resources.ts';
import type { ContainerMessage } from './pod-resources/server.ts';
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
   * Allocates the devices of a pod. Resolves with the reason why it cannot run, if there is one.
   * Returns undefined if the pod needs no devices of device plugins.
   */
  admit(pod: Pod): Promise<Rejection | undefined> | undefined {
    const manager = this.#manager;
    return manager?.needs(pod) === true ? this.#allocate(manager, pod) : undefined;
  }

  async #allocate(manager: DeviceManager, pod: Pod): Promise<Rejection | undefined> {
    const { signal } = this.#config;
    try {
      await manager.allocate(pod, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return {
        reason: 'UnexpectedAdmissionError',
        message: `Allocate failed due to ${errorMessage(error)}, which is unexpected`,
      };
    }
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
    return {
      devices: deviceMessages(this.#manager?.devicesOf(podUid(pod), container.name) ?? []),
      dynamicResources: claimMessages(this.#config.claims.claimInfos(pod, container)),
    };
  }

  /** Returns all healthy devices of the node, in the same form. */
  allocatable(): Pick<ContainerMessage, 'devices'> {
    return { devices: allocatableMessages(this.#manager?.allocatableDevices() ?? new Map()) };
  }

  /** Releases the devices of pods that have ended. */
  releaseInactive(): void {
    this.#manager?.releaseInactive();
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
