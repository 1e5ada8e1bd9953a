// Chooses devices for a container.

import { byAffinity } from './device-hints.ts';

export interface DeviceChoice {
  readonly resource: string;
  readonly podUid: string;
  readonly container: string;
  /** The number of devices that the container asks for. */
  readonly required: number;
  /** The devices that the container has already, for example before a restart of the kubelet. */
  readonly present: ReadonlySet<string> | undefined;
  /** The healthy devices; undefined if no plugin has registered the resource. */
  readonly healthy: ReadonlySet<string> | undefined;
  /** The devices that containers have, or are about to get. */
  readonly inUse: ReadonlySet<string>;
  /** Devices of the pod's init containers, which have ended when this container runs. */
  readonly reusable: ReadonlySet<string>;
  /** The NUMA nodes of the resource's devices, by id. */
  readonly numaNodes?: ReadonlyMap<string, readonly number[]>;
  /** The NUMA nodes that were chosen for the container, as bits; undefined for any. */
  readonly mask: number | undefined;
}

export interface Choice {
  /** The devices that are certain. */
  readonly ids: readonly string[];
  /** The number of devices that are still missing. */
  readonly missing: number;
  /** The devices of which the missing ones can be taken. */
  readonly available: readonly string[];
}

/**
 * Returns the choice; undefined if the container needs no devices that it does not have. The caller
 * asks the plugin for its preference and calls `fill`. Throws the reason if the devices are not
 * available.
 */
export function chooseDevices(input: DeviceChoice): Choice | undefined {
  const { resource, required, present, healthy, inUse, reusable } = input;
  if (present !== undefined && present.size !== required) {
    throw new Error(
      `pod "${input.podUid}" container "${input.container}" changed request for resource ` +
        `"${resource}" from ${present.size} to ${required}`,
    );
  }
  if (healthy === undefined) throw new Error(`cannot allocate unregistered device ${resource}`);
  if (healthy.size === 0) {
    throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
  }
  if ([...(present ?? [])].some((id) => !healthy.has(id))) {
    throw new Error(
      `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
    );
  }
  if (present !== undefined || required === 0) return undefined;
  const ids = [...reusable].slice(0, required);
  const missing = required - ids.length;
  const available = [...healthy].filter((id) => !inUse.has(id) && !ids.includes(id));
  const { aligned, others } = byAffinity(input.numaNodes ?? new Map(), available, input.mask);
  if (available.length < missing) {
    throw new Error(
      `requested number of devices unavailable for ${resource}. Requested: ${missing}, ` +
        `Available: ${available.length}`,
    );
  }
  if (missing < aligned.length) return { ids, missing, available: aligned };
  // All devices on the chosen nodes are needed, and perhaps some of others.
  return { ids: [...ids, ...aligned], missing: missing - aligned.length, available: others };
}

/** Returns the chosen devices: the plugin's preferred ones first, as far as they are available. */
export function fill(
  { ids, missing, available }: Choice,
  preferred: readonly string[],
): readonly string[] {
  const rest = new Set(available);
  const wanted = [...new Set(preferred)].filter((id) => rest.has(id));
  for (const id of wanted) rest.delete(id);
  return [...ids, ...[...wanted, ...rest].slice(0, missing)];
}
