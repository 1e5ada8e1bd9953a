// Names of what a cluster has on a machine. They follow from the data directory: the same at each
// start, others for another cluster.

import { createHash } from 'node:crypto';
import { bridgeName } from '../cni.ts';
import { podNetworkInterface } from '#machinery/net/service-interface.ts';
import type { PodNetworkNames } from './model.ts';

/** In `ip route`, the origin of our routes. Not one of those in iproute2's list. */
export const ROUTE_PROTOCOL = 84;

/** Metrics of ours begin here: any route of an administrator comes first. */
export const FIRST_METRIC = 2 ** 24;

/**
 * @param dataDir the directory of the cluster's container runtime, after which its bridge is named
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
