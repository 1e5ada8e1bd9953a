// The interfaces of this machine, without addresses that clusters have added.

import { networkInterfaces } from 'node:os';
import { isClusterInterface } from './service-interface.ts';

type Interfaces = ReturnType<typeof networkInterfaces>;

/**
 * Returns the machine's interfaces with their own addresses. It leaves out interfaces that clusters
 * have created, and copies of their addresses on other interfaces: NDP needs an IPv6 address of a
 * load balancer on the interface of the link, too.
 */
export function machineInterfaces(all: Interfaces = networkInterfaces()): Interfaces {
  const entries = Object.entries(all);
  const ofClusters = new Set(
    entries.flatMap(([name, list]) =>
      isClusterInterface(name) ? (list ?? []).map(({ address }) => address) : [],
    ),
  );
  return Object.fromEntries(
    entries
      .filter(([name]) => !isClusterInterface(name))
      .map(([name, list]) => [
        name,
        (list ?? []).filter(({ address }) => !ofClusters.has(address)),
      ]),
  );
}
