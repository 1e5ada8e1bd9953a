// Makes it safe to send the same service again, or to change only its type. Allocated values stay
// unless the client sends others. Values that the new type does not use are dropped if the client
// sends them back unchanged.

import {
  allocatesNodePorts,
  isReachableFromOutside,
  needsClusterIP,
  needsHealthCheckPort,
  needsNodePorts,
  nodePortsOf,
  sameList,
  type Service,
  without,
} from './service.ts';

/**
 * Returns the service with clusterIP equal to the first of clusterIPs: old clients use only the
 * former.
 */
export function withClusterIPs(service: Service, old?: Service): Service {
  const { spec } = service;
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (old === undefined) {
    return clusterIP === '' || clusterIPs.length > 0
      ? service
      : { ...service, spec: { ...spec, clusterIPs: [clusterIP] } };
  }
  if (clusterIP === (old.spec.clusterIP ?? '')) {
    if (clusterIPs.length > 0 || (old.spec.clusterIPs ?? []).length === 0) return service;
    return { ...service, spec: { ...spec, clusterIPs: old.spec.clusterIPs } };
  }
  if (!sameList(clusterIPs, old.spec.clusterIPs)) return service;
  return {
    ...service,
    spec:
      clusterIP === ''
        ? without(spec, 'clusterIP', 'clusterIPs')
        : { ...spec, clusterIPs: [clusterIP] },
  };
}

export function keepAllocated(service: Service, old: Service): Service {
  let { spec } = service;
  if (needsClusterIP(old) && needsClusterIP(service)) {
    const { clusterIP, clusterIPs } = old.spec;
    if ((spec.clusterIP ?? '') === '' && clusterIP !== undefined) spec = { ...spec, clusterIP };
    if ((spec.clusterIPs ?? []).length === 0 && clusterIPs !== undefined)
      spec = { ...spec, clusterIPs };
  }
  if (allocatesNodePorts(old) && allocatesNodePorts(service))
    spec = { ...spec, ports: withNodePorts(service, old) };
  if (
    needsHealthCheckPort(old) &&
    needsHealthCheckPort(service) &&
    (spec.healthCheckNodePort ?? 0) === 0
  ) {
    spec = { ...spec, healthCheckNodePort: old.spec.healthCheckNodePort };
  }
  return spec === service.spec ? service : { ...service, spec };
}

/** Returns the ports with the stored node ports filled in. Ports are matched by name. */
function withNodePorts(service: Service, old: Service): Service['spec']['ports'] {
  const wanted = new Set(nodePortsOf(service));
  const used = new Set(nodePortsOf(old).filter((number) => wanted.has(number)));
  const before = new Map(
    (old.spec.ports ?? []).map(({ name = '', nodePort = 0 }) => [name, nodePort]),
  );
  return service.spec.ports?.map((port) => {
    if ((port.nodePort ?? 0) !== 0) return port;
    const nodePort = before.get(port.name ?? '') ?? 0;
    if (nodePort === 0 || used.has(nodePort)) return port;
    return { ...port, nodePort };
  });
}

/**
 * Returns the service without values that its new type does not use. A value that the client has
 * changed stays, for validation to reject.
 */
export function dropUnused(service: Service, old: Service): Service {
  let { spec, status } = service;
  const before = old.spec;
  if (needsClusterIP(old) && !needsClusterIP(service)) {
    if (sameList(spec.clusterIPs, before.clusterIPs))
      spec = without(spec, 'clusterIP', 'clusterIPs');
    if (sameList(spec.ipFamilies, before.ipFamilies)) spec = without(spec, 'ipFamilies');
    if (spec.ipFamilyPolicy === before.ipFamilyPolicy) spec = without(spec, 'ipFamilyPolicy');
  }
  if (needsNodePorts(old) && !needsNodePorts(service) && hasNoNewNodePorts(service, old)) {
    spec = { ...spec, ports: spec.ports?.map(({ nodePort: _nodePort, ...port }) => port) };
  }
  if (
    needsHealthCheckPort(old) &&
    !needsHealthCheckPort(service) &&
    spec.healthCheckNodePort === before.healthCheckNodePort
  ) {
    spec = without(spec, 'healthCheckNodePort');
  }
  if (before.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    for (const name of ['allocateLoadBalancerNodePorts', 'loadBalancerClass'] as const) {
      if (spec[name] === before[name]) spec = without(spec, name);
    }
  }
  if (
    isReachableFromOutside(old) &&
    !isReachableFromOutside(service) &&
    spec.externalTrafficPolicy === before.externalTrafficPolicy
  ) {
    spec = without(spec, 'externalTrafficPolicy');
  }
  // The status of the balancer is dropped when the type changes, although its controller may still
  // be deleting it.
  if (spec.type !== 'LoadBalancer' && Object.keys(status.loadBalancer).length > 0)
    status = { ...status, loadBalancer: {} };
  return { ...service, spec, status };
}

function hasNoNewNodePorts(service: Service, old: Service): boolean {
  const before = new Set(nodePortsOf(old));
  return nodePortsOf(service).every((nodePort) => before.has(nodePort));
}

/**
 * Returns an ExternalName service without internalTrafficPolicy, which it does not use. An invalid
 * value stays, for validation to reject.
 */
export function withoutNeedless(service: Service): Service {
  const { spec } = service;
  if (spec.type !== 'ExternalName' || !/^(Cluster|Local)$/.test(spec.internalTrafficPolicy ?? ''))
    return service;
  return { ...service, spec: without(spec, 'internalTrafficPolicy') };
}
