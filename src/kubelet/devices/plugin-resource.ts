// A resource of device plugins: its devices, and the plugin that serves it now.

import type { DevicePlugin } from './plugin.ts';
import { type Device, HEALTHY, type PluginOptions } from './schema.ts';

/** How long the devices of a plugin that is gone are still counted in the node's capacity. */
const STOP_GRACE_MS = 5 * 60_000;

export class PluginResource {
  readonly name: string;
  /** All devices of the last report, by id. */
  #devices: ReadonlyMap<string, Device> = new Map();
  #healthy: ReadonlySet<string> = new Set();
  #unhealthy: ReadonlySet<string> = new Set();
  #plugin: DevicePlugin | undefined;
  #options: PluginOptions | undefined;
  /** The monotonic time at which the plugin was lost; undefined while there is one. */
  #stoppedAt: number | undefined;
  /** The resource was reported, in this run of the kubelet or in one before. */
  #known = false;

  constructor(name: string) {
    this.name = name;
  }

  /** Returns a resource of a former run of the kubelet: without devices until its plugin is back. */
  static restored(name: string, now: number): PluginResource {
    const resource = new PluginResource(name);
    resource.#known = true;
    resource.#stoppedAt = now;
    return resource;
  }

  get isKnown(): boolean {
    return this.#known;
  }

  get healthy(): ReadonlySet<string> {
    return this.#healthy;
  }

  get plugin(): DevicePlugin | undefined {
    return this.#plugin;
  }

  get options(): PluginOptions | undefined {
    return this.#options;
  }

  get capacity(): number {
    return this.#healthy.size + this.#unhealthy.size;
  }

  device(id: string): Device | undefined {
    return this.#devices.get(id);
  }

  /** Returns the NUMA nodes of all devices by id. */
  numaNodes(): ReadonlyMap<string, readonly number[]> {
    return new Map(
      [...this.#devices].map(([id, { topology }]) => [
        id,
        (topology?.nodes ?? []).map((node) => node.id),
      ]),
    );
  }

  healthyDevices(): readonly Device[] {
    return [...this.#devices.values()].filter(({ id }) => this.#healthy.has(id));
  }

  isExpired(now: number): boolean {
    return this.#stoppedAt !== undefined && now - this.#stoppedAt > STOP_GRACE_MS;
  }

  connected(plugin: DevicePlugin, options: PluginOptions): void {
    this.#plugin = plugin;
    this.#options = options;
    this.#stoppedAt = undefined;
  }

  /** The plugin is gone: no device of it is healthy. */
  disconnected(now: number): void {
    this.#plugin = undefined;
    this.#stoppedAt = now;
    this.#unhealthy = new Set([...this.#unhealthy, ...this.#healthy]);
    this.#healthy = new Set();
    this.#known = true;
  }

  /** Replaces the devices. Returns the ids of those that are new or have another health. */
  update(devices: readonly Device[]): ReadonlySet<string> {
    const changed = devices.filter(({ id, health }) => this.#devices.get(id)?.health !== health);
    this.#devices = new Map(devices.map((device) => [device.id, device]));
    const all = [...this.#devices.values()];
    const isHealthy = ({ health }: Device): boolean => health === HEALTHY;
    this.#healthy = new Set(all.filter(isHealthy).map(({ id }) => id));
    this.#unhealthy = new Set(all.filter((device) => !isHealthy(device)).map(({ id }) => id));
    this.#known = true;
    return new Set(changed.map(({ id }) => id));
  }
}
