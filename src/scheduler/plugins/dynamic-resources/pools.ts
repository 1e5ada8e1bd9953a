// The devices that drivers publish, in pools: the devices that a node can use, and whether the pool
// is complete.

import { type CounterSet, resourceSlices } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Handle } from '#scheduler/framework/handle.ts';
import type { Node } from '#scheduler/framework/objects.ts';
import { compileNodeSelector, type NodeMatcher } from '../node-selector.ts';
import { type Device, deviceKey, type ResourceSlice } from './objects.ts';

/** A device with its slice. */
export interface PooledDevice {
  /** The key, from deviceKey. */
  readonly key: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
  readonly pool: Pool;
}

export interface Pool {
  /** 'driver/pool'. */
  readonly id: string;
  readonly driver: string;
  readonly name: string;
  /** Slices are missing: the driver is about to publish them. */
  readonly incomplete: boolean;
  /** The slices are inconsistent. */
  readonly invalid: boolean;
  /** All devices, of any node. */
  readonly devices: readonly PooledDevice[];
  /** By name. */
  readonly counters: ReadonlyMap<string, Immutable<CounterSet>>;
}

/** The part of a pool that a node can use. */
export interface NodePool {
  readonly pool: Pool;
  readonly devices: readonly PooledDevice[];
}

/** A node's name, or a condition to evaluate. */
interface NodeChoice {
  readonly nodeName?: string;
  readonly allNodes?: boolean;
  readonly nodeSelector?: ResourceSlice['spec']['nodeSelector'];
}

const selectors = new WeakMap<object, NodeMatcher>();

function chooses({ nodeName, allNodes, nodeSelector }: NodeChoice, node: Node): boolean {
  if (nodeName !== undefined) return nodeName === node.metadata.name;
  if (allNodes === true) return true;
  if (nodeSelector === undefined) return false;
  let matches = selectors.get(nodeSelector);
  if (matches === undefined) {
    matches = compileNodeSelector(nodeSelector);
    selectors.set(nodeSelector, matches);
  }
  return matches(node);
}

/** Maintains the pools from ResourceSlices. */
export class Pools {
  readonly #lister;
  #changed = true;
  /** Pools by the only node that uses them. */
  #ofNode = new Map<string, Pool[]>();
  /** Pools that several nodes may use. */
  #shared: readonly Pool[] = [];

  constructor({ informers, ended }: Pick<Handle, 'informers' | 'ended'>) {
    const informer = informers.informerFor(resourceSlices);
    this.#lister = informer.lister;
    const changed = (): void => {
      this.#changed = true;
    };
    const registration = informer.addEventHandler({
      onAdd: changed,
      onUpdate: changed,
      onDelete: changed,
    });
    ended.addEventListener('abort', () => registration.remove(), { once: true });
  }

  /** Returns the pools with a device for the node, in the order of their use. */
  of(node: Node): readonly NodePool[] {
    this.#refresh();
    const pools = [...(this.#ofNode.get(node.metadata.name) ?? []), ...this.#shared];
    const found: NodePool[] = [];
    for (const pool of pools) {
      const devices = pool.devices.filter(({ slice: { spec }, device }) =>
        chooses(spec.perDeviceNodeSelection === true ? device : spec, node),
      );
      if (devices.length > 0) found.push({ pool, devices });
    }
    // Pools whose devices must be made ready come last.
    return found.sort(
      (a, b) =>
        Number(needsBinding(a)) - Number(needsBinding(b)) ||
        (a.pool.id < b.pool.id ? -1 : a.pool.id > b.pool.id ? 1 : 0),
    );
  }

  #refresh(): void {
    if (!this.#changed) return;
    this.#changed = false;
    this.#ofNode = new Map();
    const shared: Pool[] = [];
    const byPool = new Map<string, ResourceSlice[]>();
    for (const slice of this.#lister.list()) {
      const id = `${slice.spec.driver}/${slice.spec.pool.name}`;
      const slices = byPool.get(id);
      if (slices === undefined) byPool.set(id, [slice]);
      else slices.push(slice);
    }
    for (const slices of byPool.values()) {
      const pool = poolOf(slices);
      const nodes = new Set(pool.devices.map(({ slice }) => slice.spec.nodeName));
      const [only] = nodes;
      if (nodes.size !== 1 || only === undefined) shared.push(pool);
      else this.#ofNode.set(only, [...(this.#ofNode.get(only) ?? []), pool]);
    }
    this.#shared = shared;
  }
}

function needsBinding({ devices }: NodePool): boolean {
  return devices.some(({ device }) => (device.bindingConditions?.length ?? 0) > 0);
}

/** Builds a pool. Only the latest generation counts: the others are being replaced. */
function poolOf(slices: readonly ResourceSlice[]): Pool {
  const generation = Math.max(...slices.map(({ spec }) => spec.pool.generation));
  const latest = slices
    .filter(({ spec }) => spec.pool.generation === generation)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const [{ spec }] = latest as [ResourceSlice, ...ResourceSlice[]];
  const [driver, name] = [spec.driver, spec.pool.name];
  const devices: PooledDevice[] = [];
  const counters = new Map<string, Immutable<CounterSet>>();
  for (const slice of latest)
    for (const set of slice.spec.sharedCounters ?? []) counters.set(set.name, set);
  const all = latest.flatMap((slice) =>
    (slice.spec.devices ?? []).map((device) => ({ device, slice })),
  );
  const distinct = new Set(all.map(({ device }) => device.name)).size === all.length;
  const pool: Pool = {
    id: `${driver}/${name}`,
    driver,
    name,
    // With missing slices, the pool may seem inconsistent although it is not.
    incomplete: latest.length !== spec.pool.resourceSliceCount,
    invalid: !distinct || !all.every(({ device }) => hasCounters(device, counters)),
    devices,
    counters,
  };
  for (const { device, slice } of all)
    devices.push({
      key: deviceKey({ driver, pool: name, device: device.name }),
      device,
      slice,
      pool,
    });
  return pool;
}

/** Reports whether the pool has all counters that the device consumes. */
function hasCounters(
  device: Device,
  counters: ReadonlyMap<string, Immutable<CounterSet>>,
): boolean {
  return (device.consumesCounters ?? []).every(({ counterSet, counters: taken }) => {
    const present = counters.get(counterSet)?.counters ?? {};
    return Object.keys(taken ?? {}).every((name) => Object.hasOwn(present, name));
  });
}
