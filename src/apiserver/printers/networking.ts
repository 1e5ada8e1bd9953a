// Tables of network policies, ingresses, service ranges and their addresses.

import type * as networking from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabelSelector } from '#machinery/selectors/labels.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, joined, NAME } from '../tables/columns.ts';

type Ingress = Immutable<networking.Ingress>;

const MAX_HOSTS = 3;

export const networkPolicyTable: TableConvertor<Immutable<networking.NetworkPolicy>> = {
  columns: [NAME, column('Pod-Selector', 'The pods that it is about.'), AGE],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    formatLabelSelector(spec.podSelector),
    since(metadata.creationTimestamp, now),
  ],
};

export const ingressTable: TableConvertor<Ingress> = {
  columns: [
    NAME,
    column('Class', 'The class of controllers that implements it.'),
    column('Hosts', 'The host names that it routes.'),
    column('Address', 'Where it can be reached.'),
    column('Ports', 'On which ports.'),
    AGE,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.ingressClassName ?? metadata.annotations?.['kubernetes.io/ingress.class'] ?? '<none>',
    hostsOf(spec.rules ?? []),
    joined(
      (status.loadBalancer.ingress ?? []).flatMap(({ ip, hostname }) => ip || hostname || []),
      '',
    ),
    (spec.tls ?? []).length > 0 ? '80, 443' : '80',
    since(metadata.creationTimestamp, now),
  ],
};

function hostsOf(rules: readonly Immutable<networking.IngressRule>[]): string {
  const hosts = rules.flatMap(({ host }) => host || []);
  if (hosts.length === 0) return '*';
  const shown = hosts.slice(0, MAX_HOSTS).join(',');
  return hosts.length > MAX_HOSTS ? `${shown} + ${hosts.length - MAX_HOSTS} more...` : shown;
}

export const ipAddressTable: TableConvertor<Immutable<networking.IPAddress>> = {
  columns: [NAME, column('ParentRef', 'What has the address.')],
  cells: ({ metadata, spec: { parentRef: { group = '', resource = '', namespace = '', name = '' } = {} } }) => [
    metadata.name,
    nameOf(resource, group, namespace, name),
  ],
};

function nameOf(resource: string, group: string, namespace: string, name: string): string {
  return [group === '' ? resource : `${resource}.${group}`, namespace, name].filter(Boolean).join('/');
}

export const serviceCidrTable: TableConvertor<Immutable<networking.ServiceCIDR>> = {
  columns: [NAME, column('CIDRs', 'The ranges that cluster IPs come from.'), AGE],
  cells: ({ metadata, spec }, now) => [metadata.name, joined(spec.cidrs, ''), since(metadata.creationTimestamp, now)],
};
