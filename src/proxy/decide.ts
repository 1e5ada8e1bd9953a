// The decisions of the proxy: from services, their EndpointSlices and the node to rules. Pure.
// Services are independent of each other.

import {
  type Endpoint,
  endpointsOf,
  type EndpointsByPort,
  HEADLESS_LABEL,
  portKey,
  protocolOf,
  select,
  type Selection,
  SERVICE_NAME_LABEL,
} from '#client/endpoints/index.ts';
import {
  bitsOf,
  contains,
  formatIp,
  type IpFamily,
  type IpRange,
  isGlobalUnicast,
  parseCidr,
  parseIp,
} from '#machinery/net/ip.ts';
import type {
  Destination,
  NodeFacts,
  PortRules,
  Protocol,
  Service,
  ServiceRules,
  Slice,
  Target,
} from './model.ts';

/** Services with this label belong to another proxy. */
const PROXY_NAME = 'service.kubernetes.io/service-proxy-name';
const FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];
const DEFAULT_AFFINITY_SECONDS = 10_800;

export const serviceKey = (namespace: string, name: string): string => `${namespace}/${name}`;

/** Returns the key of a slice's service; undefined if the proxy does not handle the service. */
export function serviceOf({ metadata }: Slice): string | undefined {
  const { labels = {}, namespace = '' } = metadata;
  const name = labels[SERVICE_NAME_LABEL] ?? '';
  return name === '' || HEADLESS_LABEL in labels || PROXY_NAME in labels
    ? undefined
    : serviceKey(namespace, name);
}

/**
 * Returns the rules of all services by key. Services without rules (headless, ExternalName …) are
 * left out.
 */
export function decide(
  services: readonly Service[],
  slices: readonly Slice[],
  node: NodeFacts,
): Map<string, ServiceRules> {
  const byService = new Map<string, Slice[]>();
  for (const slice of slices) {
    const key = serviceOf(slice);
    if (key === undefined) continue;
    const list = byService.get(key);
    if (list === undefined) byService.set(key, [slice]);
    else list.push(slice);
  }
  const rules = new Map<string, ServiceRules>();
  for (const service of services) {
    const key = serviceKey(service.metadata.namespace ?? '', service.metadata.name);
    const decided = decideService(service, byService.get(key) ?? [], node);
    if (decided !== undefined) rules.set(key, decided);
  }
  return rules;
}

/** Returns the rules of one service; undefined if it needs none. `slices`: the service's slices. */
export function decideService(
  service: Service,
  slices: readonly Slice[],
  node: NodeFacts,
): ServiceRules | undefined {
  const { metadata, spec } = service;
  if (spec.type === 'ExternalName' || PROXY_NAME in (metadata.labels ?? {})) return undefined;
  if (spec.clusterIP === undefined || spec.clusterIP === '' || spec.clusterIP === 'None')
    return undefined;
  const problems = new Set<string>();
  const ports: PortRules[] = [];
  const localReady = new Set<string>();
  for (const family of FAMILIES) {
    const clusterIP = clusterIPOf(service, family);
    if (clusterIP === undefined) continue;
    const endpoints = endpointsOf(slices, family, { nodeName: node.name, problems });
    for (const list of endpoints.values())
      for (const { local, ready, ip } of list) if (local && ready) localReady.add(ip);
    ports.push(...portsOf(service, family, clusterIP, endpoints, node, problems));
  }
  return {
    key: serviceKey(metadata.namespace ?? '', metadata.name),
    created: metadata.creationTimestamp ?? '',
    ports,
    healthCheckNodePort: needsHealthCheck(service) ? (spec.healthCheckNodePort ?? 0) : 0,
    localReady: localReady.size,
    problems: [...problems].sort().slice(0, MAX_PROBLEMS),
  };
}

/** Further problems of a service are not logged. */
const MAX_PROBLEMS = 10;

function clusterIPOf({ spec }: Service, family: IpFamily): string | undefined {
  const candidates = spec.clusterIPs ?? [spec.clusterIP ?? ''];
  const parsed = candidates
    .map((text) => parseIp(text))
    .find((address) => address?.family === family);
  return parsed === undefined ? undefined : formatIp(parsed);
}

const needsHealthCheck = ({ spec }: Service): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

function portsOf(
  service: Service,
  family: IpFamily,
  clusterIP: string,
  endpoints: EndpointsByPort,
  node: NodeFacts,
  problems: Set<string>,
): PortRules[] {
  const { metadata, spec, status } = service;
  const key = serviceKey(metadata.namespace ?? '', metadata.name);
  const isExternal =
    spec.type === 'NodePort' || spec.type === 'LoadBalancer' || (spec.externalIPs ?? []).length > 0;
  const externalLocal = isExternal && spec.externalTrafficPolicy === 'Local';
  const internalLocal = spec.internalTrafficPolicy === 'Local';
  const externals = externalAddresses(spec.externalIPs ?? [], family, problems);
  const virtual = (status.loadBalancer.ingress ?? []).filter(
    ({ ip, ipMode = 'VIP' }) => ip !== undefined && ipMode === 'VIP',
  );
  const balanced = externalAddresses(
    virtual.map(({ ip = '' }) => ip),
    family,
    problems,
  );
  const sourceRanges = rangesOf(
    spec.loadBalancerSourceRanges ?? [],
    family,
    balanced,
    node,
    problems,
  );
  return (spec.ports ?? []).flatMap((servicePort): PortRules[] => {
    const protocol = protocolOf(servicePort.protocol);
    if (protocol === undefined) return [];
    const { name = '', port, nodePort = 0 } = servicePort;
    const free = (address: string): boolean => isFree(address, protocol, port, node, problems);
    const externalIPs = externals.filter(free);
    const loadBalancerIPs = balanced.filter(free);
    const accessible = nodePort !== 0 || externalIPs.length > 0 || loadBalancerIPs.length > 0;
    const all = endpoints.get(portKey(name, protocol)) ?? [];
    const policies = {
      usesCluster: !internalLocal || accessible,
      usesLocal: internalLocal || (externalLocal && accessible),
    };
    const selection = select(all, policies, node);
    return [
      {
        name: `${key}:${name}`,
        id: `${key}/${name}/${protocol}/${family}`,
        family,
        protocol,
        clusterIP,
        port,
        nodePort,
        externalIPs,
        loadBalancerIPs,
        sourceRanges,
        affinitySeconds: affinityOf(service),
        cluster: selection.cluster.map(targetOf),
        local: selection.local.map(targetOf),
        internal: destination(selection, internalLocal),
        external: destination(selection, externalLocal),
        externalLocal,
        serving:
          protocol === 'udp'
            ? all.filter(({ serving }) => serving).map(({ ip, port: at }) => `${ip} ${at}`)
            : [],
      },
    ];
  });
}

const targetOf = ({ ip, port, local }: Endpoint): Target => ({ ip, port, local });

function destination({ local, any }: Selection, isLocal: boolean): Destination {
  if (!any) return 'reject';
  if (!isLocal) return 'cluster';
  return local.length > 0 ? 'local' : 'drop';
}

function affinityOf({ spec }: Service): number {
  if (spec.sessionAffinity !== 'ClientIP') return 0;
  return spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? DEFAULT_AFFINITY_SECONDS;
}

/**
 * Returns the addresses that users set on a service, without loopback or link-local addresses of
 * the node, which other programs trust.
 */
function externalAddresses(
  texts: readonly string[],
  family: IpFamily,
  problems: Set<string>,
): readonly string[] {
  const found = new Set<string>();
  for (const text of texts) {
    const address = parseIp(text);
    if (address === undefined || !isGlobalUnicast(text)) {
      problems.add(`external address ${JSON.stringify(text)} is none that a service may have`);
    } else if (address.family === family) {
      found.add(formatIp(address));
    }
  }
  return [...found];
}

/**
 * Reports whether the port is free: a service must not replace the kubelet or the API server at the
 * node's own addresses.
 */
function isFree(
  address: string,
  protocol: Protocol,
  port: number,
  node: NodeFacts,
  problems: Set<string>,
): boolean {
  if (!node.addresses.has(address) || !node.reservedPorts.has(`${protocol}/${port}`)) return true;
  problems.add(
    `port ${protocol}/${port} at the node's address ${address} belongs to the node itself`,
  );
  return false;
}

/**
 * Returns the restricting source ranges of the family. A range of all addresses restricts nothing.
 */
function rangesOf(
  texts: readonly string[],
  family: IpFamily,
  balanced: readonly string[],
  node: NodeFacts,
  problems: Set<string>,
): readonly string[] {
  const ranges: IpRange[] = [];
  for (const text of texts) {
    const range = parseCidr(text.trim());
    if (range === undefined) problems.add(`source range ${JSON.stringify(text)} is no range`);
    else if (range.family === family) ranges.push(range);
  }
  if (ranges.length === 0 || ranges.some(({ prefix }) => prefix === 0)) return [];
  // The node reaches its own address with that address as its source.
  const own = [...node.addresses].flatMap((text) => parseIp(text) ?? []);
  const allowsNode = ranges.some((range) => own.some((address) => contains(range, address)));
  const allowed = ranges.map(
    ({ first, prefix }) => `${formatIp({ family, value: first })}/${prefix}`,
  );
  return [
    ...new Set([
      ...allowed,
      ...(allowsNode ? balanced.map((address) => `${address}/${bitsOf(family)}`) : []),
    ]),
  ].sort();
}
