// Properties of a service that follow from its type.

import type * as core from '#api/groups/core/v1/index.ts';
import { formatIp, parseIp } from '#machinery/net/ip.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export type Service = Immutable<core.Service>;
export type ServiceSpec = Service['spec'];

/** 'None', the cluster IP of headless services, counts as an address, too. */
export const needsClusterIP = ({ spec }: Service): boolean => spec.type !== 'ExternalName';

export const needsNodePorts = ({ spec }: Service): boolean =>
  spec.type === 'NodePort' || spec.type === 'LoadBalancer';

/** Reports whether ports without a node port get one. */
export const allocatesNodePorts = ({ spec }: Service): boolean =>
  spec.type === 'NodePort' ||
  (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);

/** A load balancer that uses only local endpoints checks each node for one. */
export const needsHealthCheckPort = ({ spec }: Service): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

export const isReachableFromOutside = (service: Service): boolean =>
  needsNodePorts(service) ||
  (service.spec.type === 'ClusterIP' && (service.spec.externalIPs ?? []).length > 0);

export const sameList = (a: readonly string[] = [], b: readonly string[] = []): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

/** Returns the numbers of node ports, without the health check port. */
export function nodePortsOf({ spec }: Service): number[] {
  return (spec.ports ?? []).flatMap(({ nodePort = 0 }) => (nodePort === 0 ? [] : [nodePort]));
}

/** Returns the spec without some fields. */
export function without<K extends keyof ServiceSpec>(
  spec: ServiceSpec,
  ...names: readonly K[]
): ServiceSpec {
  const copy: Partial<Record<keyof ServiceSpec, unknown>> = { ...spec };
  for (const name of names) delete copy[name];
  return copy as ServiceSpec;
}

/** Returns the addresses in canonical form, without 'None'. Invalid ones stay unchanged. */
export function addressesOf({ spec }: Service): readonly string[] {
  if (spec.type === 'ExternalName') return [];
  const { clusterIPs = [], clusterIP = '' } = spec;
  const addresses = clusterIPs.length > 0 ? clusterIPs : [clusterIP];
  return addresses.filter((address) => address !== '' && address !== 'None').map(canonicalIP);
}

/**
 * Returns the address as IPAddress objects are named. Leading zeros, which were once allowed, are
 * ignored.
 */
export function canonicalIP(text: string): string {
  const address = parseIp(text) ?? parseIp(text.replace(/(^|\.)0+(?=\d)/g, '$1'));
  return address === undefined ? text : formatIp(address);
}

/** Returns the numbers of node ports, with the health check port. */
export function allPortsOf(service: Service): number[] {
  const { healthCheckNodePort = 0 } = service.spec;
  const needed = needsHealthCheckPort(service) && healthCheckNodePort !== 0;
  return needed ? [...nodePortsOf(service), healthCheckNodePort] : nodePortsOf(service);
}
