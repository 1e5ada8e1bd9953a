// Hints for the topology manager: on which NUMA nodes the devices of a resource can be allocated.

import type { Hint } from '../resource-managers/hints/hint.ts';
import { countOf, hasNode, subsetsOf } from '../resource-managers/hints/numa-mask.ts';

export interface DeviceHintInput {
  /** The NUMA nodes of the machine. */
  readonly machineNodes: readonly number[];
  /** The NUMA nodes of each device of the resource, by id. Empty: unknown. */
  readonly devices: ReadonlyMap<string, readonly number[]>;
  /** The devices that the container has already. */
  readonly present: ReadonlySet<string>;
  readonly available: ReadonlySet<string>;
  /** Devices of the pod's init containers, which have ended when this container runs. */
  readonly reusable: ReadonlySet<string>;
  readonly requested: number;
}

/** Returns the hints; undefined if the devices have no NUMA nodes. None: there are too few devices. */
export function deviceHints(input: DeviceHintInput): readonly Hint[] | undefined {
  const { devices, present, available, reusable, requested } = input;
  if ([...devices.values()].every((nodes) => nodes.length === 0)) return undefined;
  if (present.size > 0)
    return present.size === requested ? hintsFor(input, present, new Set()) : [];
  if (new Set([...available, ...reusable]).size < requested) return [];
  return hintsFor(input, available, reusable);
}

function hintsFor(
  { machineNodes, devices, requested }: DeviceHintInput,
  available: ReadonlySet<string>,
  reusable: ReadonlySet<string>,
): readonly Hint[] {
  const withDevices = new Set([...devices.values()].flat());
  const used = machineNodes.filter((node) => withDevices.has(node));
  const nodes = used.length === 0 ? machineNodes : used;
  let fewest = nodes.length;
  const masks: number[] = [];
  for (const mask of subsetsOf(nodes)) {
    const isIn = (id: string): boolean =>
      (devices.get(id) ?? []).some((node) => hasNode(mask, node));
    if ([...devices.keys()].filter(isIn).length >= requested)
      fewest = Math.min(fewest, countOf(mask));
    const reused = [...reusable].filter((id) => (devices.get(id) ?? []).length > 0);
    if (!reused.every(isIn)) continue;
    if (reused.length + [...available].filter(isIn).length >= requested) masks.push(mask);
  }
  return masks.map((mask) => ({ mask, preferred: countOf(mask) === fewest }));
}

/** Devices in the order in which the topology manager's decision wants them to be used. */
export interface DevicesByAffinity {
  readonly aligned: readonly string[];
  /** On other NUMA nodes, and then on unknown ones. */
  readonly others: readonly string[];
}

/** Divides the available devices by the NUMA nodes that were chosen for the container. */
export function byAffinity(
  devices: ReadonlyMap<string, readonly number[]>,
  available: readonly string[],
  mask: number | undefined,
): DevicesByAffinity {
  const nodesOfDevice = (id: string): readonly number[] => devices.get(id) ?? [];
  if (mask === undefined || [...devices.values()].every((nodes) => nodes.length === 0))
    return { aligned: [], others: available };
  const isAligned = (id: string): boolean => nodesOfDevice(id).some((node) => hasNode(mask, node));
  const others = available.filter((id) => !isAligned(id));
  return {
    aligned: available.filter(isAligned),
    others: [
      ...others.filter((id) => nodesOfDevice(id).length > 0),
      ...others.filter((id) => nodesOfDevice(id).length === 0),
    ],
  };
}
