// A cluster of the kind that kubeadm makes, as docs/static-pods.md describes: the control plane is
// static pods of the first node, and service proxies are pods of a DaemonSet.

import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { run } from './cable.ts';
import { type JoinedNode, machineDir, startJoinedNode } from './joined-node.ts';
import type { Machine, MachineFiles, Network } from './machines.ts';
import { runCox } from './role.ts';

const example = fileURLToPath(new URL('../../examples/static-pods/', import.meta.url));

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const UNINITIALIZED = 'node.cloudprovider.kubernetes.io/uninitialized';
/** Where etcd keeps its data. The directory of this machine is the mount point only. */
const ETCD = '/var/lib/etcd';

/** The common settings of the nodes of such a cluster: see JoinedNodeConfig. */
export const STATIC_NODE = {
  // A cloud's controller would write the external addresses: here it is completeNodes.
  kubelet: { 'cloud-provider': 'external' },
  hasProxy: false,
} as const;

/** The first node of a cluster. */
export interface StaticPodsConfig {
  readonly network: Network;
  /** The directory of the first node. */
  readonly dir: string;
  readonly etc: MachineFiles['etc'];
  readonly logFile: string;
}

export interface FirstNode extends JoinedNode {
  /** A directory with what other nodes need to join: `kubeconfig` and `pki`. */
  readonly clusterDir: string;
}

/** Starts the first node. Resolves when it is ready; rejects with a UserError if its kubelet ends. */
export async function startStaticPods(config: StaticPodsConfig): Promise<FirstNode> {
  const { network, dir, etc, logFile } = config;
  const [machine] = network.machines;
  const clusterDir = join(machineDir(dir), 'etc', 'kubernetes');
  const pki = join(clusterDir, 'pki');
  mkdirSync(clusterDir, { recursive: true });
  runCox('certs', 'init', '--cert-dir', pki, '--hosts', machine.address);
  for (const [role, file] of [
    ['admin', 'kubeconfig'],
    ['controller-manager', 'controller-manager.conf'],
    ['scheduler', 'scheduler.conf'],
  ] as const) {
    const server = ['--server', `https://${machine.address}:6443`];
    runCox('certs', 'kubeconfig', role, '--cert-dir', pki, ...server, '-f', join(clusterDir, file));
  }
  const manifests = join(clusterDir, 'manifests');
  mkdirSync(manifests);
  for (const name of readdirSync(join(example, 'manifests')))
    writeFileSync(join(manifests, name), manifest(join('manifests', name), network));
  const etcd = join(dir, 'etcd');
  for (const each of [etcd, ETCD]) mkdirSync(each, { recursive: true });
  const node = await startJoinedNode({
    ...STATIC_NODE,
    network,
    machine,
    dir,
    clusterDir,
    etc,
    logFile,
    binds: [[etcd, ETCD]],
    kubelet: { ...STATIC_NODE.kubelet, 'pod-manifest-path': '/etc/kubernetes/manifests' },
  });
  return { ...node, clusterDir };
}

/** Reads a manifest of the example, with the ranges and the address of this cluster. */
const manifest = (name: string, { pods, services, machines: [{ address }] }: Network): string =>
  readFileSync(join(example, name), 'utf8')
    .replaceAll('10.244.0.0/16', pods)
    .replaceAll('10.96.0.0/16', services)
    .replaceAll('10.0.0.7', address);

/**
 * Starts the service proxies, and does what kubeadm and a cloud's controller would do: the first node
 * is one of the control plane, and all have external addresses.
 */
export async function completeNodes(
  kubectl: string,
  clusterDir: string,
  network: Network,
  machines: readonly Machine[],
): Promise<void> {
  const on = (...args: readonly string[]): string =>
    run(kubectl, `--kubeconfig=${join(clusterDir, 'kubeconfig')}`, ...args);
  const [{ node: first }] = network.machines;
  for (const { node, address } of machines) {
    const addresses = ['ExternalIP', 'InternalIP'].map((type) => ({ type, address }));
    const status = { addresses: [...addresses, { type: 'Hostname', address: node }] };
    on('patch', 'node', node, '--subresource=status', '-p', JSON.stringify({ status }));
    on('taint', 'node', node, `${UNINITIALIZED}-`);
  }
  on('label', 'node', first, `${CONTROL_PLANE}=`);
  on('taint', 'node', first, `${CONTROL_PLANE}:NoSchedule`);
  for (const [name, text] of [
    ['permissions.yaml', runCox('kubelet', '--print-permissions')],
    ['kube-proxy.yaml', manifest('kube-proxy.yaml', network)],
  ] as const) {
    const file = join(clusterDir, name);
    writeFileSync(file, text);
    on('apply', '-f', file);
  }
  // This process serves the image meanwhile.
  await promisify(execFile)(kubectl, [
    `--kubeconfig=${join(clusterDir, 'kubeconfig')}`,
    '-n',
    'kube-system',
    'rollout',
    'status',
    'daemonset/kube-proxy',
    '--timeout=300s',
  ]);
}
