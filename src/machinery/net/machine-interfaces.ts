// The interfaces of this machine, without addresses that clusters have put there.

import { networkInterfaces } from 'node:os';
import { isServiceInterface } from './service-interface.ts';

type Interfaces = ReturnType<typeof networkInterfaces>;

/**
 * Returns the machine's interfaces with their own addresses. Interfaces with addresses of services are left out, and so are copies of
 * these addresses on other interfaces: an IPv6 address of a load balancer is on the interface of the link, too, where NDP finds it.
 */
export function machineInterfaces(all: Interfaces = networkInterfaces()): Interfaces {
  const entries = Object.entries(all);
  const ofServices = new Set(
    entries.flatMap(([name, list]) => (isServiceInterface(name) ? (list ?? []).map(({ address }) => address) : [])),
  );
  return Object.fromEntries(
    entries
      .filter(([name]) => !isServiceInterface(name))
      .map(([name, list]) => [name, (list ?? []).filter(({ address }) => !ofServices.has(address))]),
  );
}
