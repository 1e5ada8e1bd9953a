// The command line of each role, by our program and by upstream's, as values.

import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { EVICTION_HARD } from '../conformance/joined-node.ts';
import type { SwapNetwork } from './network.ts';
import type { Maker, Role } from './roles.ts';

/** Paths and addresses in the command lines. */
export interface World {
  /** Certificates and keys, as `cox certs init` makes them. */
  readonly pki: string;
  /** A directory with a file NAME.conf for each identity. */
  readonly dir: string;
  readonly etcdUrl: string;
  /** The address of the machine, its name as a node, and the socket of its container runtime. */
  readonly address: string;
  readonly node: string;
  readonly runtimeEndpoint: string;
  /** Addresses that no other cluster of the machine has. */
  readonly network: SwapNetwork;
  /** Paths of upstream's programs. */
  readonly programs: Readonly<Record<Role, string>>;
}

export const API_PORT = 6443;
/** The port of the first node's kubelet; each further one has the next. */
const FIRST_KUBELET_PORT = 10_250;
const ISSUER = 'https://kubernetes.default.svc.cluster.local';

const cox = fileURLToPath(new URL('../../bin/cox.js', import.meta.url));

/** Returns the program and its arguments. */
export const commandOf = (role: Role, maker: Maker, world: World): readonly string[] =>
  maker === 'ours'
    ? [process.execPath, cox, role, ...flags(ours[role](world))]
    : [world.programs[role], ...flags(upstream[role](world))];

/** Returns the command of a node of ours without containers. `index` counts from 0. */
export const simulatedNode = (name: string, index: number, world: World): readonly string[] => [
  process.execPath,
  cox,
  'kubelet',
  ...flags({
    kubeconfig: join(world.dir, `${name}.conf`),
    runtime: 'simulated',
    'cert-dir': world.pki,
    'data-dir': join(world.dir, name),
    'hostname-override': name,
    'node-ip': world.address,
    port: FIRST_KUBELET_PORT + index,
  }),
];

type Flags = Readonly<Record<string, string | number | boolean>>;

const flags = (values: Flags): string[] =>
  Object.entries(values).map(([name, value]) => `--${name}=${value}`);

const identity = (name: string, { dir }: World): Flags => ({
  kubeconfig: join(dir, `${name}.conf`),
});

const ours: Readonly<Record<Role, (world: World) => Flags>> = {
  apiserver: ({ pki, etcdUrl, address, network }) => ({
    'etcd-servers': etcdUrl,
    'cert-dir': pki,
    'bind-address': address,
    'secure-port': API_PORT,
    'service-cluster-ip-range': network.services,
  }),
  'controller-manager': (world) => ({
    ...identity('controller-manager', world),
    'cert-dir': world.pki,
    'cluster-cidr': world.network.pods,
    'service-cluster-ip-range': world.network.services,
    'cluster-signing-cert-file': join(world.pki, 'ca.crt'),
    'cluster-signing-key-file': join(world.pki, 'ca.key'),
  }),
  scheduler: (world) => identity('scheduler', world),
  kubelet: (world) => ({
    ...identity('kubelet', world),
    'cert-dir': world.pki,
    'data-dir': join(world.dir, 'node'),
    'hostname-override': world.node,
    'node-ip': world.address,
    'container-runtime-endpoint': world.runtimeEndpoint,
    'cluster-dns': world.network.dns,
  }),
  proxy: (world) => ({
    ...identity('proxy', world),
    'hostname-override': world.node,
    'cluster-cidr': world.network.pods,
    'proxy-mode': 'nftables',
  }),
  dns: (world) => ({
    ...identity('dns', world),
    'bind-address': world.address,
    'cluster-ip': world.network.dns,
  }),
};

const upstream: Readonly<Record<Role, (world: World) => Flags>> = {
  apiserver: ({ pki, etcdUrl, address, network }) => ({
    'etcd-servers': etcdUrl,
    'bind-address': address,
    'advertise-address': address,
    'secure-port': API_PORT,
    'tls-cert-file': join(pki, 'apiserver.crt'),
    'tls-private-key-file': join(pki, 'apiserver.key'),
    'client-ca-file': join(pki, 'ca.crt'),
    'kubelet-client-certificate': join(pki, 'apiserver-kubelet-client.crt'),
    'kubelet-client-key': join(pki, 'apiserver-kubelet-client.key'),
    'kubelet-certificate-authority': join(pki, 'ca.crt'),
    'kubelet-preferred-address-types': 'InternalIP',
    'proxy-client-cert-file': join(pki, 'front-proxy-client.crt'),
    'proxy-client-key-file': join(pki, 'front-proxy-client.key'),
    'requestheader-client-ca-file': join(pki, 'front-proxy-ca.crt'),
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'allow-privileged': true,
    'service-account-issuer': ISSUER,
    'service-account-key-file': join(pki, 'sa.pub'),
    'service-account-signing-key-file': join(pki, 'sa.key'),
    'service-cluster-ip-range': network.services,
  }),
  'controller-manager': (world) => ({
    ...identity('controller-manager', world),
    'use-service-account-credentials': true,
    'service-account-private-key-file': join(world.pki, 'sa.key'),
    'root-ca-file': join(world.pki, 'ca.crt'),
    'allocate-node-cidrs': true,
    'cluster-cidr': world.network.pods,
    'service-cluster-ip-range': world.network.services,
    'cluster-signing-cert-file': join(world.pki, 'ca.crt'),
    'cluster-signing-key-file': join(world.pki, 'ca.key'),
  }),
  scheduler: (world) => identity('scheduler', world),
  kubelet: (world) => ({
    ...identity('kubelet', world),
    config: join(world.dir, KUBELET_CONFIGURATION),
    'root-dir': join(world.dir, 'kubelet'),
    'hostname-override': world.node,
    'node-ip': world.address,
  }),
  proxy: (world) => ({
    ...identity('proxy', world),
    'hostname-override': world.node,
    'cluster-cidr': world.network.pods,
    'proxy-mode': 'nftables',
    // These settings of the kernel do not exist in a network namespace.
    'conntrack-max-per-core': 0,
    'conntrack-tcp-timeout-established': 0,
    'conntrack-tcp-timeout-close-wait': 0,
  }),
  dns: ({ dir }) => ({ conf: join(dir, COREFILE) }),
};

const KUBELET_CONFIGURATION = 'kubelet.yaml';
const COREFILE = 'Corefile';

/** Returns the settings of upstream's kubelet and DNS, by file. */
export const configurations = (world: World): Readonly<Record<string, string>> => ({
  [KUBELET_CONFIGURATION]: `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: { enabled: false }
  webhook: { enabled: true }
  x509: { clientCAFile: ${join(world.pki, 'ca.crt')} }
authorization: { mode: Webhook }
tlsCertFile: ${join(world.pki, `kubelet-${world.node}.crt`)}
tlsPrivateKeyFile: ${join(world.pki, `kubelet-${world.node}.key`)}
clusterDNS: [${world.network.dns}]
clusterDomain: cluster.local
containerRuntimeEndpoint: ${world.runtimeEndpoint}
cgroupDriver: cgroupfs
cgroupRoot: /${world.network.cable.namespace}
# The machine may have cgroup v1, and swap.
failCgroupV1: false
failSwapOn: false
# As our kubelet: pods are not limited as a whole.
enforceNodeAllocatable: []
# The machine runs other kubelets, and may be nearly full; images are imported, so none may be removed.
podLogsDir: ${join(world.dir, 'pod-logs')}
evictionHard: { ${EVICTION_HARD.split(',')
    .map((threshold) => threshold.replace('<', ': '))
    .join(', ')} }
imageGCHighThresholdPercent: 100
resolvConf: /etc/resolv.conf
`,
  [COREFILE]: `.:53 {
  bind ${world.address}
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig ${join(world.dir, 'dns.conf')}
    pods insecure
    ttl 5
  }
  forward . /etc/resolv.conf
}
`,
});

/** Returns the Service and the endpoint of upstream's DNS, which does not make them by itself. */
export const dnsService = ({ address, network }: World): string => `apiVersion: v1
kind: Service
metadata: { name: kube-dns, namespace: kube-system, labels: { k8s-app: kube-dns } }
spec:
  clusterIP: ${network.dns}
  ports:
  - { name: dns, port: 53, protocol: UDP }
  - { name: dns-tcp, port: 53, protocol: TCP }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: kube-dns-swap
  namespace: kube-system
  labels: { kubernetes.io/service-name: kube-dns }
addressType: IPv4
endpoints:
- { addresses: [${address}], conditions: { ready: true } }
ports:
- { name: dns, port: 53, protocol: UDP }
- { name: dns-tcp, port: 53, protocol: TCP }
`;

/** The binding that lets the API server's own identity use upstream's kubelet, which asks for its rights. */
export const kubeletAccess = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: kube-apiserver-kubelet-client }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:kubelet-api-admin }
subjects:
- { apiGroup: rbac.authorization.k8s.io, kind: User, name: kube-apiserver-kubelet-client }
`;
