// Computes the endpoint of a pod for a service: addresses, ports and conditions.

import type { Node, Pod, Service, ServicePort } from '#api/groups/core/v1/index.ts';
import type { Endpoint, EndpointPort } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import { isPodReady, isPodTerminal, podCondition } from '../pod-state.ts';

type ReadPod = Immutable<Pod>;
type ReadService = Immutable<Service>;

export type AddressType = 'IPv4' | 'IPv6';

const ZONE = 'topology.kubernetes.io/zone';

export function addressTypesOf({ spec }: ReadService): readonly AddressType[] {
  const families = (spec.ipFamilies ?? []).filter((family): family is AddressType => family !== '');
  if (families.length > 0) return families;
  return [(spec.clusterIP ?? '').includes(':') ? 'IPv6' : 'IPv4'];
}

/** Reports whether the service has no cluster IP: 'None', or a type without one. */
export function isHeadless({ spec }: ReadService): boolean {
  return (spec.clusterIP ?? '') === '' || spec.clusterIP === 'None';
}

export function addressesOf({ status }: ReadPod, type: AddressType): string[] {
  const all =
    status.podIPs?.flatMap(({ ip }) => ip ?? []) ??
    (status.podIP === undefined ? [] : [status.podIP]);
  return all.filter((address) => address.includes(':') === (type === 'IPv6'));
}

/**
 * Reports whether the pod belongs to the endpoints. Ended pods and pods without an address do not;
 * terminating pods only if `includeTerminating` is set.
 */
export function belongsToEndpoints(pod: ReadPod, includeTerminating: boolean): boolean {
  if (isPodTerminal(pod)) return false;
  if ((pod.status.podIP ?? '') === '' && (pod.status.podIPs ?? []).length === 0) return false;
  return includeTerminating || pod.metadata.deletionTimestamp === undefined;
}

/**
 * Returns the number of a service's port on a pod; undefined if the pod has no port with that name.
 */
export function portOn(
  { spec }: ReadPod,
  { targetPort, protocol = 'TCP' }: Immutable<ServicePort>,
): number | undefined {
  if (typeof targetPort === 'number') return targetPort;
  const sidecars = (spec.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === 'Always',
  );
  for (const { ports = [] } of [...spec.containers, ...sidecars]) {
    const found = ports.find(
      (port) => port.name === targetPort && (port.protocol ?? 'TCP') === protocol,
    );
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}

/** Returns the pod's ports for the service. Ports that the pod does not have are left out. */
export function portsOn(pod: ReadPod, { spec }: ReadService): EndpointPort[] {
  return (spec.ports ?? []).flatMap((servicePort) => {
    const port = portOn(pod, servicePort);
    if (port === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = servicePort;
    return [{ name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) }];
  });
}

/** Returns the pod's own host name within the service, if it has one. */
export function hostnameIn({ metadata, spec }: ReadPod, service: ReadService): string | undefined {
  const named = (spec.hostname ?? '') !== '' && spec.subdomain === service.metadata.name;
  return named && metadata.namespace === service.metadata.namespace ? spec.hostname : undefined;
}

export function endpointOf(
  pod: ReadPod,
  node: Immutable<Node> | undefined,
  service: ReadService,
  type: AddressType,
): Endpoint {
  const serving = isPodReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const hostname = hostnameIn(pod, service);
  const zone = node?.metadata.labels?.[ZONE] ?? '';
  const { name, namespace = '', uid } = pod.metadata;
  return {
    addresses: addressesOf(pod, type),
    conditions: {
      ready: service.spec.publishNotReadyAddresses === true || (serving && !terminating),
      serving,
      terminating,
    },
    ...(hostname !== undefined && { hostname }),
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(pod.spec.nodeName !== undefined && { nodeName: pod.spec.nodeName }),
    ...(zone !== '' && { zone }),
  };
}

/**
 * Returns when the endpoints of the service last changed, as far as can be observed, in
 * milliseconds since the epoch.
 */
export function lastChangeMs(service: ReadService, pods: readonly ReadPod[]): number | undefined {
  const times = [
    service.metadata.creationTimestamp,
    ...pods.map((pod) => podCondition(pod, 'Ready')?.lastTransitionTime),
  ];
  const known = times.flatMap((time) =>
    time === undefined || time === null ? [] : (parseTime(time) ?? []),
  );
  return known.length === 0 ? undefined : Math.max(...known);
}
