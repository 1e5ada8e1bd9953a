// Names of a cluster's objects on a machine. They are derived from the data directory: stable
// across restarts, and different for another cluster.

import { createHash } from 'node:crypto';
import { bridgeName } from '../cni.ts';
import { podNetworkInterface } from '#machinery/net/service-interface.ts';
import type { PodNetworkNames } from './model.ts';

/** The protocol of our routes in `ip route`. It is not in iproute2's list. */
export const ROUTE_PROTOCOL = 84;

/** The lowest metric of our routes: any route of an administrator takes precedence. */
export const FIRST_METRIC = 2 ** 24;

/**
 * Returns the names.
 *
 * @param dataDir the directory of the cluster's container runtime, from which the names are derived
 */
export function podNetworkNames(dataDir: string): PodNetworkNames {
  const id = createHash('sha256').update(dataDir).digest('hex').slice(0, 10);
  return {
    bridge: bridgeName(dataDir),
    vxlan: podNetworkInterface(id),
    table: `coxswain-pods-${id}`,
    metric: FIRST_METRIC + Number.parseInt(id.slice(0, 6), 16),
  };
}
