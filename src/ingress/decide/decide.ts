// The decision: from the cluster's objects to the proxy's configuration and the objects' statuses.
// Pure.

import type { Service } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type Configuration, serverKey } from '../model.ts';
import { decideGateways } from './gateways.ts';
import { decideIngresses } from './ingresses.ts';
import type { Facts, IngressObjects } from './objects.ts';
import { type Problem, problemOf } from './problem.ts';
import { ServerPlan } from './servers.ts';
import { type DecidedStatus, gatewayStatuses, ingressStatuses } from './statuses.ts';

export interface Decision {
  readonly configuration: Configuration;
  readonly statuses: readonly DecidedStatus[];
  /** Texts for the log about parts that cannot be served, without data of Secrets. */
  readonly problems: readonly Problem[];
}

export function decide(objects: IngressObjects, facts: Facts): Decision {
  const { addresses, published, httpPort, httpsPort } = facts;
  const servers = new ServerPlan();
  const own = new Set<string>();
  for (const address of addresses) {
    servers.open(address, httpPort, false);
    servers.open(address, httpsPort, true);
    own.add(serverKey(address, httpPort)).add(serverKey(address, httpsPort));
  }
  const { gatewayApi } = objects;
  // Listeners of Gateways come before those of Ingresses with the same hostname.
  const gateways =
    gatewayApi === undefined ? undefined : decideGateways(gatewayApi, objects, facts, servers);
  const { ingresses, plain, encrypted, problems } = decideIngresses(objects);
  for (const address of addresses) {
    for (const listener of plain) servers.add(address, httpPort, false, listener);
    for (const listener of encrypted) servers.add(address, httpsPort, true, listener);
  }
  return {
    configuration: { servers: servers.finish(own) },
    statuses: [
      ...ingressStatuses(ingresses, published),
      ...(gateways === undefined ? [] : gatewayStatuses(gateways)),
    ],
    problems,
  };
}

/**
 * Returns a problem for each load balancer address and port of a Service that the proxy uses, too:
 * a service proxy takes such connections away from the ingress.
 */
export function serviceConflicts(
  services: Iterable<Immutable<Service>>,
  { servers }: Configuration,
): Problem[] {
  const used = new Set(servers.map(({ address, port }) => serverKey(address, port)));
  const problems: Problem[] = [];
  for (const { metadata, spec, status } of services) {
    const addresses = [
      ...(spec.externalIPs ?? []),
      ...(status.loadBalancer?.ingress ?? []).map(({ ip = '' }) => ip),
    ];
    for (const { port, protocol = 'TCP' } of spec.ports ?? []) {
      const address = addresses.find(
        (each) => protocol === 'TCP' && used.has(serverKey(each, port)),
      );
      if (address === undefined) continue;
      const text =
        `port ${port} of ${address} is where the ingress listens: connections may go to either. ` +
        'Give the Service another port, or the ingress other ports or addresses';
      problems.push(problemOf('Service', metadata, text));
    }
  }
  return problems;
}
