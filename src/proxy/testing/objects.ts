// Builds services, slices and nodes for tests from short texts.

import { type IpFamily, parseIp } from '#machinery/net/ip.ts';
import type { NodeFacts, Service, Slice } from '../model.ts';

export const NODE: NodeFacts = {
  name: 'here',
  zone: 'east',
  addresses: new Set(['192.168.0.1', 'fd00::1']),
  reservedPorts: new Set(['tcp/6443', 'tcp/10250']),
};

/** Returns the service `default/web` with the cluster IP 10.96.0.10 and the port 80. */
export function service(
  spec: Partial<Service['spec']> = {},
  name = 'web',
  ingress: readonly string[] = [],
): Service {
  const clusterIP = spec.clusterIP ?? '10.96.0.10';
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      clusterIP,
      clusterIPs: [clusterIP],
      type: 'ClusterIP',
      ports: [{ port: 80, targetPort: 8080 }],
      ...spec,
    },
    status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip, ipMode: 'VIP' })) } },
  } as unknown as Service;
}

/**
 * Returns a slice of the service with the port 8080. Each endpoint is a text: its address, and then
 * words: `here` or `there` (its node), `unready`, `going` (terminating, serving), `gone`
 * (terminating, not serving), `zone=Z` and `node=N` (hints).
 */
export function slice(
  endpoints: readonly string[],
  options: { name?: string; of?: string; ports?: Slice['ports'] } = {},
): Slice {
  const {
    of = 'web',
    name = `${of}-1`,
    ports = [{ name: '', port: 8080, protocol: 'TCP' }],
  } = options;
  const family: IpFamily = parseIp(endpoints[0]?.split(' ')[0] ?? '')?.family ?? 'IPv4';
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': of } },
    addressType: family,
    ports,
    endpoints: endpoints.map(endpointOf),
  } as unknown as Slice;
}

function endpointOf(text: string): NonNullable<Slice['endpoints']>[number] {
  const [address = '', ...words] = text.split(' ');
  const has = (word: string): boolean => words.includes(word);
  const hints = (kind: string): { name: string }[] =>
    words
      .filter((word) => word.startsWith(`${kind}=`))
      .map((word) => ({ name: word.slice(kind.length + 1) }));
  const terminating = has('going') || has('gone');
  return {
    addresses: [address],
    ...(has('here') ? { nodeName: 'here' } : { nodeName: 'there' }),
    conditions: {
      ready: !terminating && !has('unready'),
      serving: !has('gone') && !has('unready'),
      terminating,
    },
    hints: { forZones: hints('zone'), forNodes: hints('node') },
  };
}
