// What the type of a service says about it.

import type * as core from '../../../../api/core/v1/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';

export type Service = Immutable<core.Service>;
export type ServiceSpec = Service['spec'];

/** 'None', for a headless one, is an address too. */
export const needsClusterIP = ({ spec }: Service): boolean => spec.type !== 'ExternalName';

export const needsNodePorts = ({ spec }: Service): boolean => spec.type === 'NodePort' || spec.type === 'LoadBalancer';

/** A load balancer asks each node whether it has an endpoint of its own, if only those are to be used. */
export const needsHealthCheckPort = ({ spec }: Service): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

export const isReachableFromOutside = (service: Service): boolean =>
  needsNodePorts(service) || (service.spec.type === 'ClusterIP' && (service.spec.externalIPs ?? []).length > 0);

export const sameList = (a: readonly string[] = [], b: readonly string[] = []): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

/** Numbers of node ports, without that for health checks. */
export function nodePortsOf({ spec }: Service): number[] {
  return (spec.ports ?? []).flatMap(({ nodePort = 0 }) => (nodePort === 0 ? [] : [nodePort]));
}

/** The spec without some fields. */
export function without<K extends keyof ServiceSpec>(spec: ServiceSpec, ...names: readonly K[]): ServiceSpec {
  const left: Partial<Record<keyof ServiceSpec, unknown>> = { ...spec };
  for (const name of names) delete left[name];
  return left as ServiceSpec;
}

/** Without 'None'. */
export function addressesOf({ spec }: Service): readonly string[] {
  if (spec.type === 'ExternalName') return [];
  return (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((address) => address !== '' && address !== 'None');
}

/** Numbers of node ports, with that for health checks. */
export function allPortsOf(service: Service): number[] {
  const { healthCheckNodePort = 0 } = service.spec;
  const needed = needsHealthCheckPort(service) && healthCheckNodePort !== 0;
  return needed ? [...nodePortsOf(service), healthCheckNodePort] : nodePortsOf(service);
}
