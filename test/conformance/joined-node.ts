// One more real node: a kubelet with a containerd of its own and a service proxy, on a machine of
// their own (machines.ts). It joins the cluster as docs/joining-nodes.md describes. Routes to the
// pods of other nodes are the product's.

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  asMachine,
  initOf,
  insideMachine,
  KUBELET_ROOT,
  type Machine,
  type MachineFiles,
  type Network,
} from './machines.ts';
import { makeServices } from './services.ts';
import { runCox, type RunningRole, startRole } from './role.ts';

/** Machines that run tests are often nearly full, and tests of pods need no tenth of the disk. */
export const EVICTION_HARD =
  'memory.available<100Mi,nodefs.available<2%,nodefs.inodesFree<1%,imagefs.available<2%';

/** Returns the cgroup of a node's pods: nodes share the machine's hierarchy. */
export const cgroupRootOf = ({ namespace }: Machine): string => `/${namespace}`;

export interface JoinedNode {
  readonly containerdSocket: string;
  /** Process 1 of its machine, by its number on this machine. */
  readonly init: number;
  /** Stops the node with its containers. */
  stop(): Promise<void>;
}

/**
 * Starts the node in `dir`. `clusterDir` is the data directory of the cluster that it joins, whose
 * kubeconfig names an address that the node can reach. `etc`: see MachineFiles. Resolves when the node
 * reports that it is ready; rejects with a UserError if it ends instead.
 */
export async function startJoinedNode(
  { pods, dns }: Network,
  machine: Machine,
  dir: string,
  clusterDir: string,
  etc: MachineFiles['etc'],
  logFile: string,
): Promise<JoinedNode> {
  const { node, address } = machine;
  const ownRoot = join(dir, 'kubelet-root');
  mkdirSync(ownRoot, { recursive: true });
  const services = makeServices(join(dir, 'services'));
  const binds = [[ownRoot, KUBELET_ROOT] as const, ...services.binds];
  const files = { dir: join(dir, 'machine'), binds, etc };
  const pki = join(clusterDir, 'pki');
  const kubeconfig = (role: string, ...flags: readonly string[]): string =>
    roleKubeconfig(clusterDir, join(dir, `${role}.conf`), role, ...flags);
  runCox('certs', 'node', node, '--cert-dir', pki, '--hosts', address);
  const roles: RunningRole[] = [];
  const stop = async (): Promise<void> => {
    for (const role of roles.splice(0).reverse()) await role.stop();
  };
  try {
    roles.push(
      await startRole(
        `${node} kubelet`,
        (command) => asMachine(machine, files, services.kept('kubelet', command)),
        'kubelet',
        {
          kubeconfig: kubeconfig('kubelet', '--node', node),
          'cert-dir': pki,
          'data-dir': dir,
          'root-dir': KUBELET_ROOT,
          runtime: 'containerd',
          'image-gc-high-threshold': '100',
          'hostname-override': node,
          'node-ip': address,
          'cluster-cidr': pods,
          'cluster-dns': dns,
          'eviction-hard': EVICTION_HARD,
          'cgroup-root': cgroupRootOf(machine),
          'network-policy-kubeconfig': kubeconfig('network-policy'),
        },
        logFile,
      ),
    );
    const proxyFlags = {
      kubeconfig: kubeconfig('proxy'),
      'hostname-override': node,
      'cluster-cidr': pods,
    };
    const init = initOf(roles[0]?.pid ?? 0);
    const inside = (command: readonly string[]): readonly [string, ...string[]] =>
      insideMachine(init, services.kept('kube-proxy', command));
    roles.push(await startRole(`${node} proxy`, inside, 'proxy', proxyFlags, logFile));
    services.keep();
    return { containerdSocket: join(dir, 'containerd', 'containerd.sock'), init, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes the kubeconfig of a role, with a certificate of the cluster's authority. Returns its path. */
export function roleKubeconfig(
  clusterDir: string,
  file: string,
  role: string,
  ...flags: readonly string[]
): string {
  const admin = readFileSync(join(clusterDir, 'kubeconfig'), 'utf8');
  const server = /^ *server: (\S+)$/m.exec(admin)?.[1] ?? '';
  const certificates = ['--cert-dir', join(clusterDir, 'pki'), '--server', server];
  runCox('certs', 'kubeconfig', role, ...flags, ...certificates, '--file', file);
  return file;
}
