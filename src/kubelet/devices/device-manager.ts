// Allocates the devices of device plugins to containers.
//
// Plugins register themselves (registration.ts) and report their devices in a stream. When a pod is
// admitted, each of its containers gets devices, and the plugin's response (variables, mounts,
// device nodes) is kept until the pod has ended, over restarts of the kubelet in a checkpoint.
//
// A plugin that hangs delays the pods that ask for its resource, and no others.

import { errorMessage } from '#machinery/error-message.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { CheckpointFile } from '../checkpoints/checkpoint-file.ts';
import { amountOf } from '../pod/resources.ts';
import type { Hint, Hints } from '../resource-managers/hints/hint.ts';
import { containersOf, isEndingInit, podMaximum } from '../resource-managers/requests.ts';
import { describePod, podUid, type Container, type Pod, type ResourceList } from '../types.ts';
import { decodeCheckpoint, encodeCheckpoint } from './checkpoint.ts';
import { chooseDevices, fill } from './choose-devices.ts';
import { deviceHints } from './device-hints.ts';
import { combineDevices, type ContainerDevices, NO_DEVICES } from './container-devices.ts';
import type { DevicePlugin } from './plugin.ts';
import { PluginResource } from './plugin-resource.ts';
import { type DevicesPerNuma, idsOf, NO_NUMA_NODE, PodDevices } from './pod-devices.ts';
import { type Device, HEALTHY } from './schema.ts';

export interface DeviceMetrics {
  /** Records how long a plugin took to allocate devices. */
  deviceAllocated(resource: string, seconds: number): void;
}

export interface DeviceManagerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly checkpoint: CheckpointFile;
  readonly metrics?: DeviceMetrics;
  /** The NUMA nodes of the machine, for hints. */
  readonly numaNodes?: readonly number[];
}

/** The rest of the kubelet, as device plugins concern it. */
export interface DeviceHooks {
  /**
   * Returns the UIDs of pods that have devices or may get some; undefined while it is not known
   * which pods there are.
   */
  readonly active: () => ReadonlySet<string> | undefined;
  /** Reports whether the container runs already, as after a restart of the kubelet. */
  readonly isRunning: (podUid: string, container: string) => boolean;
  /** Called when the node's capacity may have changed. */
  readonly onCapacity: () => void;
  /** Called with the pods whose devices have another health. */
  readonly onHealth: (podUids: ReadonlySet<string>) => void;
}

const ANY: Hint = { preferred: false };

const NO_HOOKS: DeviceHooks = {
  active: () => undefined,
  isRunning: () => false,
  onCapacity: () => undefined,
  onHealth: () => undefined,
};

export interface DeviceCapacity {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources whose plugin has been gone for too long. */
  readonly removed: readonly string[];
}

/** The devices of a container with their health. */
export interface AllocatedDevice {
  readonly resource: string;
  readonly id: string;
  readonly numaNodes: readonly number[];
  readonly isHealthy: boolean;
}

export class DeviceManager {
  readonly #config: DeviceManagerConfig;
  readonly #resources = new Map<string, PluginResource>();
  readonly #podDevices = new PodDevices();
  /** By resource: devices that were chosen, while the plugin prepares them. */
  readonly #reserved = new Map<string, Set<string>>();
  /** By pod UID and resource: devices of init containers that have ended when others start. */
  readonly #reusable = new Map<string, Map<string, Set<string>>>();
  #isNew = false;
  #hooks: DeviceHooks = NO_HOOKS;

  constructor(config: DeviceManagerConfig) {
    this.#config = config;
  }

  /** Reads the checkpoint. A damaged one is logged, and the manager starts without it. */
  async start(hooks: DeviceHooks): Promise<void> {
    this.#hooks = hooks;
    const { checkpoint, clock, logger } = this.#config;
    try {
      const contents = await checkpoint.read();
      this.#isNew = contents === undefined;
      if (contents === undefined) return;
      const { entries, registered } = decodeCheckpoint(contents);
      for (const entry of entries) this.#podDevices.insert(entry);
      for (const name of registered.keys())
        this.#resources.set(name, PluginResource.restored(name, clock.monotonic()));
    } catch (error) {
      logger.error('device manager: checkpoint not read, device allocations may be outdated', {
        err: error,
      });
    }
  }

  /**
   * Reports, once, whether there was no checkpoint: extended resources of the Node then are those of
   * a former machine of that name.
   */
  takeIsNew(): boolean {
    const isNew = this.#isNew;
    this.#isNew = false;
    return isNew;
  }

  /**
   * Serves the resource with the plugin until its stream of devices ends. Resolves when the plugin
   * has responded for the first time; rejects if it does not.
   */
  async connect(name: string, plugin: DevicePlugin, signal: AbortSignal): Promise<void> {
    const options = await plugin.options(signal);
    signal.throwIfAborted();
    const resource = this.#resources.get(name) ?? new PluginResource(name);
    this.#resources.set(name, resource);
    const former = resource.plugin;
    resource.connected(plugin, options);
    // The former plugin's stream ends with its connection, and is not the current one any more.
    former?.close();
    this.#config.logger.info('device plugin connected', { resource: name });
    void this.#follow(resource, plugin, signal);
  }

  async #follow(
    resource: PluginResource,
    plugin: DevicePlugin,
    signal: AbortSignal,
  ): Promise<void> {
    const { logger, clock } = this.#config;
    try {
      for await (const devices of plugin.listAndWatch(signal)) {
        if (resource.plugin !== plugin) return;
        this.#update(resource, devices);
      }
      if (!signal.aborted)
        logger.info('device plugin ended its stream', { resource: resource.name });
    } catch (error) {
      if (!signal.aborted)
        logger.warn('device plugin: ListAndWatch ended unexpectedly', {
          resource: resource.name,
          err: error,
        });
    } finally {
      plugin.close();
    }
    if (signal.aborted || resource.plugin !== plugin) return;
    const lost = resource.healthy;
    resource.disconnected(clock.monotonic());
    this.#hooks.onCapacity();
    this.#reportHealth(resource, lost);
  }

  #update(resource: PluginResource, devices: readonly Device[]): void {
    const { logger } = this.#config;
    const changed = resource.update(devices);
    logger.debug('device plugin reported devices', {
      resource: resource.name,
      devices: devices.length,
      healthy: resource.healthy.size,
    });
    this.#save().catch((error: unknown) =>
      logger.error('device manager: checkpoint not written', { err: error }),
    );
    this.#hooks.onCapacity();
    this.#reportHealth(resource, changed);
  }

  #reportHealth(resource: PluginResource, ids: ReadonlySet<string>): void {
    if (ids.size === 0) return;
    const pods = this.#podDevices.podsWith(resource.name, ids);
    if (pods.size > 0) this.#hooks.onHealth(pods);
  }

  /** Returns the devices for the Node's status, and forgets resources whose plugin does not return. */
  capacity(): DeviceCapacity {
    const now = this.#config.clock.monotonic();
    const capacity: Record<string, string> = {};
    const allocatable: Record<string, string> = {};
    const removed: string[] = [];
    for (const [name, resource] of this.#resources) {
      if (!resource.isKnown) continue;
      if (resource.isExpired(now)) {
        removed.push(name);
        this.#resources.delete(name);
        continue;
      }
      capacity[name] = String(resource.capacity);
      allocatable[name] = String(resource.healthy.size);
    }
    if (removed.length > 0) {
      this.#save().catch((error: unknown) =>
        this.#config.logger.error('device manager: checkpoint not written', { err: error }),
      );
    }
    return { capacity, allocatable, removed };
  }

  /**
   * Returns the allocatable resources for the admission of the pod. A pod that has devices already
   * must fit, even if their plugin is gone.
   */
  allocatableFor(pod: Pod, base: ResourceList): ResourceList {
    const { allocatable } = this.capacity();
    const result: Record<string, string> = { ...base, ...allocatable };
    if (!this.#podDevices.hasPod(podUid(pod))) return result;
    for (const resource of this.#podDevices.resources()) {
      const needed = this.#podDevices.allocated(resource).size;
      if (amountOf(resource, result[resource] ?? '0') < needed) result[resource] = String(needed);
    }
    return result;
  }

  /** Reports whether a container of the pod asks for devices. */
  needs(pod: Pod): boolean {
    return containersOf(pod).some((container) => this.#requests(pod, container).length > 0);
  }

  hints(pod: Pod, container: Container): Hints {
    this.releaseInactive();
    const requests = new Map(this.#requests(pod, container));
    return this.#hints(pod, requests, (resource) => {
      const allocation = this.#podDevices.of(podUid(pod), container.name).get(resource);
      return {
        present: allocation === undefined ? new Set<string>() : idsOf(allocation.devices),
        reusable: this.#reusable.get(podUid(pod))?.get(resource) ?? new Set<string>(),
      };
    });
  }

  podHints(pod: Pod): Hints {
    this.releaseInactive();
    const requests = podMaximum(pod, (container) => new Map(this.#requests(pod, container)));
    return this.#hints(pod, requests, (resource) => ({
      present: this.#podDevices.ofPod(podUid(pod), resource),
      reusable: new Set<string>(),
    }));
  }

  #hints(
    pod: Pod,
    requests: ReadonlyMap<string, number>,
    of: (resource: string) => {
      readonly present: ReadonlySet<string>;
      readonly reusable: ReadonlySet<string>;
    },
  ): Hints {
    const hints = new Map<string, readonly Hint[]>();
    for (const [name, requested] of requests) {
      const resource = this.#resources.get(name);
      const inUse = this.#inUse(name);
      const found = deviceHints({
        ...of(name),
        machineNodes: this.#config.numaNodes ?? [],
        devices: resource?.numaNodes() ?? new Map(),
        available: new Set([...(resource?.healthy ?? [])].filter((id) => !inUse.has(id))),
        requested,
      });
      hints.set(name, found ?? [{ preferred: true }]);
    }
    return hints;
  }

  #inUse(resource: string): ReadonlySet<string> {
    return new Set([
      ...this.#podDevices.allocated(resource),
      ...(this.#reserved.get(resource) ?? []),
    ]);
  }

  /** Allocates devices to all containers of the pod, on any NUMA nodes. */
  async allocate(pod: Pod, signal: AbortSignal): Promise<void> {
    for (const container of containersOf(pod)) await this.allocateFor(pod, container, ANY, signal);
  }

  /**
   * Allocates devices to the container: on the NUMA nodes of the hint, if possible. Rejects with the
   * reason for which the pod cannot run. What the pod has got until then is released when the pod is
   * not active any more.
   */
  async allocateFor(
    pod: Pod,
    container: Container,
    hint: Hint,
    signal: AbortSignal,
  ): Promise<void> {
    const uid = podUid(pod);
    // The kubelet starts: a container that runs already has what it needs.
    const isStarting = this.#hooks.active() === undefined;
    if (isStarting && this.#hooks.isRunning(uid, container.name)) return;
    const reusable = this.#reusable.get(uid) ?? new Map<string, Set<string>>();
    this.#reusable.set(uid, reusable);
    await this.#allocateContainer(pod, container, reusable, hint.mask, signal);
    for (const [resource, { devices }] of this.#podDevices.of(uid, container.name)) {
      const ids = reusable.get(resource) ?? new Set();
      reusable.set(resource, ids);
      // An init container that has ended leaves its devices to those after it.
      for (const id of idsOf(devices)) {
        if (isEndingInit(pod, container)) ids.add(id);
        else ids.delete(id);
      }
    }
  }

  async #allocateContainer(
    pod: Pod,
    container: Container,
    reusable: ReadonlyMap<string, ReadonlySet<string>>,
    mask: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const requests = this.#requests(pod, container);
    if (requests.length === 0) return;
    this.releaseInactive();
    let isChanged = false;
    for (const [resource, required] of requests) {
      const ids = await this.#reserve(pod, container, resource, required, reusable, mask, signal);
      if (ids === undefined) continue;
      try {
        await this.#allocateIds(pod, container, resource, ids, signal);
        isChanged = true;
      } finally {
        const reserved = this.#reserved.get(resource);
        for (const id of ids) reserved?.delete(id);
      }
    }
    if (isChanged) await this.#save();
  }

  /** Chooses devices and reserves them; undefined if none are needed. */
  async #reserve(
    pod: Pod,
    container: Container,
    name: string,
    required: number,
    reusable: ReadonlyMap<string, ReadonlySet<string>>,
    mask: number | undefined,
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    const uid = podUid(pod);
    const present = this.#podDevices.of(uid, container.name).get(name);
    const choose = (): ReturnType<typeof chooseDevices> => {
      const resource = this.#resources.get(name);
      return chooseDevices({
        resource: name,
        podUid: uid,
        container: container.name,
        required,
        present: present === undefined ? undefined : idsOf(present.devices),
        healthy: resource?.isKnown === true ? resource.healthy : undefined,
        inUse: this.#inUse(name),
        reusable: reusable.get(name) ?? new Set(),
        numaNodes: resource?.numaNodes() ?? new Map(),
        mask,
      });
    };
    let choice = choose();
    if (choice === undefined) return undefined;
    const resource = this.#resources.get(name);
    let preferred: readonly string[] = [];
    if (choice.missing > 0 && resource?.options?.getPreferredAllocationAvailable === true) {
      const plugin = this.#plugin(name);
      try {
        preferred = await plugin.preferred(
          [...choice.available, ...choice.ids],
          choice.ids,
          required,
          signal,
        );
      } catch (error) {
        signal.throwIfAborted();
        throw new Error(
          `device plugin GetPreferredAllocation rpc failed with err: ${errorMessage(error)}`,
          { cause: error },
        );
      }
      // Another pod may have got devices meanwhile.
      choice = choose();
      if (choice === undefined) return undefined;
    }
    const ids = fill(choice, preferred);
    const reserved = this.#reserved.get(name) ?? new Set();
    this.#reserved.set(name, reserved);
    for (const id of ids) reserved.add(id);
    return ids;
  }

  async #allocateIds(
    pod: Pod,
    container: Container,
    name: string,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, metrics } = this.#config;
    const startedAt = clock.monotonic();
    const response = await this.#plugin(name)
      .allocate(ids, signal)
      .finally(() => metrics?.deviceAllocated(name, (clock.monotonic() - startedAt) / 1000));
    if (response === undefined) throw new Error('no containers return in allocation response');
    this.#podDevices.insert({
      podUid: podUid(pod),
      container: container.name,
      resource: name,
      devices: this.#perNuma(name, ids),
      response,
    });
  }

  #plugin(name: string): DevicePlugin {
    const resource = this.#resources.get(name);
    if (resource === undefined) throw new Error(`unknown Device Plugin ${name}`);
    if (resource.plugin === undefined) throw new Error(`endpoint ${name} has been stopped`);
    return resource.plugin;
  }

  #perNuma(name: string, ids: readonly string[]): DevicesPerNuma {
    const perNuma = new Map<number, string[]>();
    for (const id of ids) {
      const nodes = this.#resources.get(name)?.device(id)?.topology?.nodes ?? [];
      for (const node of nodes.length === 0 ? [NO_NUMA_NODE] : nodes.map((numa) => numa.id))
        perNuma.set(node, [...(perNuma.get(node) ?? []), id]);
    }
    return perNuma;
  }

  /** Returns the resources of device plugins that the container asks for, with the amounts. */
  #requests(pod: Pod, container: Container): readonly (readonly [string, number])[] {
    return Object.entries(container.resources?.limits ?? {}).flatMap(([resource, quantity]) =>
      this.#isDeviceResource(resource) && !isFromClaim(pod, container.name, resource)
        ? [[resource, amountOf(resource, quantity)] as const]
        : [],
    );
  }

  #isDeviceResource(name: string): boolean {
    return this.#resources.get(name)?.isKnown === true || this.#podDevices.resources().has(name);
  }

  /** Releases the devices of pods that have ended. */
  releaseInactive(): void {
    const active = this.#hooks.active();
    if (active === undefined) return;
    this.#podDevices.retain((uid) => active.has(uid));
    for (const uid of this.#reusable.keys()) if (!active.has(uid)) this.#reusable.delete(uid);
  }

  /**
   * Returns the container's devices for its configuration, after its plugins have prepared them.
   * Rejects with the reason for which the container cannot be created.
   */
  async containerDevices(
    pod: Pod,
    container: Container,
    signal: AbortSignal,
  ): Promise<ContainerDevices> {
    const { logger } = this.#config;
    const requests = this.#requests(pod, container).filter(([, amount]) => amount > 0);
    const allocations = (): ReturnType<PodDevices['of']> =>
      this.#podDevices.of(podUid(pod), container.name);
    for (const [name] of requests) await this.#preStart(podUid(pod), container.name, name, signal);
    // The pod was admitted when the resource was not known yet, during a start of the node.
    if (requests.some(([name]) => !allocations().has(name))) await this.allocate(pod, signal);
    if (allocations().size === 0) return NO_DEVICES;
    return combineDevices(allocations().values(), (what, name) =>
      logger.error('device manager: plugins disagree, the first one counts', {
        pod: describePod(pod),
        container: container.name,
        what,
        name,
      }),
    );
  }

  async #preStart(
    uid: string,
    container: string,
    name: string,
    signal: AbortSignal,
  ): Promise<void> {
    const resource = this.#resources.get(name);
    if (resource === undefined)
      throw new Error(`endpoint not found in cache for a registered resource: ${name}`);
    if (resource.options?.preStartRequired !== true) return;
    const devices = this.#podDevices.of(uid, container).get(name)?.devices;
    if (devices === undefined) {
      throw new Error(
        `no devices found allocated in local cache for pod ${uid}, container ${container}, resource ${name}`,
      );
    }
    try {
      await this.#plugin(name).preStartContainer([...idsOf(devices)], signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(
        `device plugin PreStartContainer rpc failed with err: ${errorMessage(error)}`,
        { cause: error },
      );
    }
  }

  /** Returns the devices that the container has, ordered by resource and id. */
  devicesOf(uid: string, container: string): readonly AllocatedDevice[] {
    return [...this.#podDevices.of(uid, container)]
      .flatMap(([resource, { devices }]) =>
        [...idsOf(devices)].map((id) => ({
          resource,
          id,
          numaNodes: [...devices.keys()].filter(
            (node) => node !== NO_NUMA_NODE && devices.get(node)?.includes(id) === true,
          ),
          // A device that no plugin reports is not known to be unhealthy.
          isHealthy: (this.#resources.get(resource)?.device(id)?.health ?? HEALTHY) === HEALTHY,
        })),
      )
      .toSorted((a, b) => compare(a.resource, b.resource) || compare(a.id, b.id));
  }

  /** Returns all healthy devices by resource. */
  allocatableDevices(): ReadonlyMap<string, readonly Device[]> {
    return new Map(
      [...this.#resources.values()]
        .filter(({ isKnown }) => isKnown)
        .map((resource) => [resource.name, resource.healthyDevices()]),
    );
  }

  #save(): Promise<void> {
    return this.#config.checkpoint.write(
      encodeCheckpoint({
        entries: [...this.#podDevices.entries()],
        registered: new Map(
          [...this.#resources.values()]
            .filter(({ isKnown }) => isKnown)
            .map(({ name, healthy }) => [name, [...healthy]]),
        ),
      }),
    );
  }
}

/** Reports whether the resource comes from a ResourceClaim that the scheduler has made. */
function isFromClaim({ status }: Pod, container: string, resource: string): boolean {
  return (status.extendedResourceClaimStatus?.requestMappings ?? []).some(
    (mapping) => mapping.containerName === container && mapping.resourceName === resource,
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
