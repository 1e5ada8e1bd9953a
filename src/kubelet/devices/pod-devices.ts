// The devices that containers have, with the plugins' responses for them.

import type { AllocateResponse } from './schema.ts';

/** The number that stands for "no NUMA node". */
export const NO_NUMA_NODE = -1;

/** Ids of devices by NUMA node. */
export type DevicesPerNuma = ReadonlyMap<number, readonly string[]>;

export interface DeviceAllocation {
  readonly devices: DevicesPerNuma;
  readonly response: AllocateResponse;
}

export interface PodDevicesEntry extends DeviceAllocation {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
}

export function idsOf(devices: DevicesPerNuma): Set<string> {
  return new Set([...devices.values()].flat());
}

export class PodDevices {
  /** By pod UID, container and resource. */
  readonly #pods = new Map<string, Map<string, Map<string, DeviceAllocation>>>();

  hasPod(uid: string): boolean {
    return this.#pods.has(uid);
  }

  insert({ podUid, container, resource, devices, response }: PodDevicesEntry): void {
    const containers = getOrMake(
      this.#pods,
      podUid,
      () => new Map<string, Map<string, DeviceAllocation>>(),
    );
    const resources = getOrMake(containers, container, () => new Map());
    resources.set(resource, { devices, response });
  }

  /** Keeps only the pods of which `isKept` returns true. Reports whether any was removed. */
  retain(isKept: (uid: string) => boolean): boolean {
    const gone = [...this.#pods.keys()].filter((uid) => !isKept(uid));
    for (const uid of gone) this.#pods.delete(uid);
    return gone.length > 0;
  }

  /** Returns the allocations of a container by resource. */
  of(podUid: string, container: string): ReadonlyMap<string, DeviceAllocation> {
    return this.#pods.get(podUid)?.get(container) ?? NONE;
  }

  /** Returns the ids of the resource's devices that containers of the pod have. */
  ofPod(podUid: string, resource: string): Set<string> {
    const containers = [...(this.#pods.get(podUid)?.values() ?? [])];
    return new Set(
      containers.flatMap((resources) => {
        const allocation = resources.get(resource);
        return allocation === undefined ? [] : [...idsOf(allocation.devices)];
      }),
    );
  }

  /** Returns the ids of all devices of the resource that containers have. */
  allocated(resource: string): Set<string> {
    const ids = new Set<string>();
    for (const entry of this.entries()) {
      if (entry.resource !== resource) continue;
      for (const id of idsOf(entry.devices)) ids.add(id);
    }
    return ids;
  }

  /** Returns the resources of which containers have devices. */
  resources(): Set<string> {
    return new Set([...this.entries()].map(({ resource }) => resource));
  }

  /** Returns the UIDs of the pods with one of the devices. */
  podsWith(resource: string, ids: ReadonlySet<string>): Set<string> {
    const uids = new Set<string>();
    for (const entry of this.entries())
      if (entry.resource === resource && [...idsOf(entry.devices)].some((id) => ids.has(id)))
        uids.add(entry.podUid);
    return uids;
  }

  *entries(): Generator<PodDevicesEntry> {
    for (const [podUid, containers] of this.#pods)
      for (const [container, resources] of containers)
        for (const [resource, allocation] of resources)
          yield { podUid, container, resource, ...allocation };
  }
}

const NONE: ReadonlyMap<string, DeviceAllocation> = new Map();

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
