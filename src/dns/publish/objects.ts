// The Service and EndpointSlice of the cluster's DNS, and the roles that allow the server to read
// its objects. They are kubeadm's, except that the Service selects no pods: the server is not a
// pod.

import type {
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
} from '#api/groups/rbac/v1/index.ts';
import type { Service } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { CONFIG_NAME } from '../config/config-map.ts';
import { SERVICE_NAME_LABEL } from '../records/packed.ts';
import { DNS_SERVICE } from '../serving/dns-server.ts';
import type { SocketAddress } from '../system/sockets.ts';

/**
 * The user of the server in kubeadm's clusters, and the name in certificates of servers that run
 * apart.
 */
export const DNS_USERS = ['system:serviceaccount:kube-system:coredns', 'system:coredns'] as const;

export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const MANAGER = 'cluster-dns.coxswain';
const DNS_PORT = 53;
const METRICS_PORT = 9153;

/** Returns the Service. `metrics`: whether it has a port for metrics. */
export function dnsService(address: string, metrics: boolean): New<Service> {
  return {
    metadata: {
      name: DNS_SERVICE.name,
      namespace: DNS_SERVICE.namespace,
      labels: {
        'k8s-app': 'kube-dns',
        'kubernetes.io/cluster-service': 'true',
        'kubernetes.io/name': 'CoreDNS',
      },
      annotations: { 'prometheus.io/port': String(METRICS_PORT), 'prometheus.io/scrape': 'true' },
    },
    spec: {
      type: 'ClusterIP',
      clusterIP: address,
      ports: [
        { name: 'dns', port: DNS_PORT, protocol: 'UDP', targetPort: DNS_PORT },
        { name: 'dns-tcp', port: DNS_PORT, protocol: 'TCP', targetPort: DNS_PORT },
        ...(metrics
          ? [
              {
                name: 'metrics',
                port: METRICS_PORT,
                protocol: 'TCP',
                targetPort: METRICS_PORT,
              } as const,
            ]
          : []),
      ],
    },
  };
}

export interface DnsEndpoint {
  /** The name of the machine, and of its slice. */
  readonly node: string;
  /** The address at which the server listens. Other machines and pods can reach it. */
  readonly at: SocketAddress;
  /** A node object with that name exists, so topology hints apply. */
  readonly isNode: boolean;
  readonly metricsPort?: number;
}

export const dnsSliceName = (node: string): string => `${DNS_SERVICE.name}-${node}`;

export function dnsSlice({ node, at, isNode, metricsPort }: DnsEndpoint): New<EndpointSlice> {
  return {
    metadata: {
      name: dnsSliceName(node),
      namespace: DNS_SERVICE.namespace,
      labels: {
        [SERVICE_NAME_LABEL]: DNS_SERVICE.name,
        [MANAGED_BY_LABEL]: MANAGER,
        'k8s-app': 'kube-dns',
      },
    },
    addressType: at.address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [
      {
        addresses: [at.address],
        conditions: { ready: true, serving: true, terminating: false },
        ...(isNode && { nodeName: node }),
      },
    ],
    ports: [
      { name: 'dns', port: at.port, protocol: 'UDP' },
      { name: 'dns-tcp', port: at.port, protocol: 'TCP' },
      ...(metricsPort === undefined
        ? []
        : [{ name: 'metrics', port: metricsPort, protocol: 'TCP' } as const]),
    ],
  };
}

const READ = ['list', 'watch'];
const users = DNS_USERS.map((name) => ({
  kind: 'User',
  apiGroup: 'rbac.authorization.k8s.io',
  name,
}));
const ROLE_NAME = 'system:coredns';

export interface DnsPermissions {
  readonly clusterRole: New<ClusterRole>;
  readonly clusterRoleBinding: New<ClusterRoleBinding>;
  readonly role: New<Role>;
  readonly roleBinding: New<RoleBinding>;
}

export const DNS_PERMISSIONS: DnsPermissions = {
  clusterRole: {
    metadata: { name: ROLE_NAME },
    rules: [
      { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: READ },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
    ],
  },
  clusterRoleBinding: {
    metadata: { name: ROLE_NAME },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ROLE_NAME },
    subjects: users,
  },
  role: {
    metadata: { name: ROLE_NAME, namespace: DNS_SERVICE.namespace },
    rules: [
      {
        apiGroups: [''],
        resources: ['configmaps'],
        resourceNames: [CONFIG_NAME],
        verbs: ['get', ...READ],
      },
      { apiGroups: [''], resources: ['services'], verbs: ['create'] },
      {
        apiGroups: [''],
        resources: ['services'],
        resourceNames: [DNS_SERVICE.name],
        verbs: ['get', 'update', 'patch'],
      },
      {
        apiGroups: ['discovery.k8s.io'],
        resources: ['endpointslices'],
        verbs: ['create', 'get', 'update', 'delete'],
      },
    ],
  },
  roleBinding: {
    metadata: { name: ROLE_NAME, namespace: DNS_SERVICE.namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: ROLE_NAME },
    subjects: users,
  },
};
