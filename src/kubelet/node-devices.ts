// The devices of the node's pods, from device plugins: what admission, container configurations and
// statuses need to know of them.

import { errorMessage } from '#machinery/error-message.ts';
import type { Rejection } from './admission.ts';
import type { ContainerDevices } from './devices/container-devices.ts';
import type { DeviceHooks, DeviceManager } from './devices/device-manager.ts';
import { type RegistrationConfig, serveRegistrations } from './devices/registration.ts';
import type { NodeDeviceFacts } from './node/node-status.ts';
import {
  podUid,
  type Container,
  type ContainerStatus,
  type Pod,
  type ResourceList,
} from './types.ts';

export interface NodeDevicesConfig extends RegistrationConfig {
  /** Aborts when the kubelet stops. */
  readonly signal: AbortSignal;
}

export class NodeDevices {
  readonly #config: NodeDevicesConfig;

  constructor(config: NodeDevicesConfig) {
    this.#config = config;
  }

  get #manager(): DeviceManager {
    return this.#config.manager;
  }

  get #signal(): AbortSignal {
    return this.#config.signal;
  }

  /**
   * Reads the devices of pods from the last run, and lets plugins register. If their socket cannot
   * be made, the kubelet runs without device plugins.
   */
  async start(hooks: DeviceHooks): Promise<void> {
    const { manager, logger, signal } = this.#config;
    await manager.start(hooks);
    try {
      await serveRegistrations(this.#config, signal);
    } catch (error) {
      logger.error('device manager: registration socket not made', { err: error });
    }
  }

  /** Returns the devices for the Node's status. */
  facts(): NodeDeviceFacts {
    return { ...this.#manager.capacity(), isNewNode: this.#manager.takeIsNew() };
  }

  /** Returns the allocatable resources for the admission of the pod. */
  allocatableFor(pod: Pod, base: ResourceList): ResourceList {
    return this.#manager.allocatableFor(pod, base);
  }

  /**
   * Allocates the devices of a pod. Resolves with the reason why it cannot run, if there is one.
   * Returns undefined if the pod needs no devices.
   */
  admit(pod: Pod): Promise<Rejection | undefined> | undefined {
    return this.#manager.needs(pod) ? this.#allocate(pod) : undefined;
  }

  async #allocate(pod: Pod): Promise<Rejection | undefined> {
    try {
      await this.#manager.allocate(pod, this.#signal);
      return undefined;
    } catch (error) {
      this.#signal.throwIfAborted();
      return {
        reason: 'UnexpectedAdmissionError',
        message: `Allocate failed due to ${errorMessage(error)}, which is unexpected`,
      };
    }
  }

  /** Returns what devices add to the container's configuration. */
  containerDevices(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerDevices> {
    return this.#manager.containerDevices(pod, container, signal);
  }

  /** Returns the status with the health of the container's devices. */
  withHealth(pod: Pod, status: ContainerStatus): ContainerStatus {
    const byResource = new Map<string, { resourceID: string; health: string }[]>();
    for (const { resource, id, isHealthy } of this.#manager.devicesOf(podUid(pod), status.name)) {
      const list = byResource.get(resource) ?? [];
      byResource.set(resource, list);
      list.push({ resourceID: id, health: isHealthy ? 'Healthy' : 'Unhealthy' });
    }
    if (byResource.size === 0) return status;
    return {
      ...status,
      allocatedResourcesStatus: [...byResource].map(([name, resources]) => ({ name, resources })),
    };
  }
}
