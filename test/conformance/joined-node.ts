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
  type OnMachine,
} from './machines.ts';
import {
  asVirtualMachine,
  insideVirtualMachine,
  makeDisk,
  type VirtualMachineConfig,
} from './virtual-machine.ts';
import { run } from './cable.ts';
import { makeLocalDisk } from './local-disk.ts';
import { makeServices } from './services.ts';
import { runCox, type RunningRole, startRole } from './role.ts';

/** Machines that run tests are often nearly full, and tests of pods need no tenth of the disk. */
export const EVICTION_HARD =
  'memory.available<100Mi,nodefs.available<2%,nodefs.inodesFree<1%,imagefs.available<2%';

/** Returns the cgroup of a node's pods: nodes share the machine's hierarchy. */
export const cgroupRootOf = ({ namespace }: Machine): string => `/${namespace}`;

export interface JoinedNode {
  /** Absent: this machine cannot reach it. */
  readonly containerdSocket?: string;
  /** Runs a command on its machine, once that has started. */
  readonly inside: OnMachine;
  /** Stops the node with its containers. */
  stop(): Promise<void>;
}

export interface JoinedNodeConfig {
  readonly network: Network;
  readonly machine: Machine;
  /** The directory of the node. */
  readonly dir: string;
  /**
   * The data directory of the cluster that it joins, whose kubeconfig names an address that the node
   * can reach.
   */
  readonly clusterDir: string;
  /** Files of its machine: see MachineFiles. */
  readonly etc: MachineFiles['etc'];
  readonly binds?: MachineFiles['binds'];
  /** More flags of its kubelet. */
  readonly kubelet?: Readonly<Record<string, string>>;
  /** Whether its service proxy is a process of its own; otherwise it is a pod. Default: true. */
  readonly hasProxy?: boolean;
  /** Makes its machine one with this kernel. Default: it has that of this machine. */
  readonly virtual?: Pick<VirtualMachineConfig, 'kernel' | 'keys'> & {
    /** Archives of the images that it has from the start. */
    readonly archives: readonly string[];
  };
  readonly logFile: string;
}

/** The files of a node's machine. Its directory `etc` is /etc there, where it has files. */
export const machineDir = (dir: string): string => join(dir, 'machine');

/**
 * Resolves when the node reports that it is ready; rejects with a UserError if it ends instead.
 */
export async function startJoinedNode(config: JoinedNodeConfig): Promise<JoinedNode> {
  const { network, machine, dir, clusterDir, etc, logFile } = config;
  const { pods, dns } = network;
  const { node, address } = machine;
  const ownRoot = join(dir, 'kubelet-root');
  mkdirSync(ownRoot, { recursive: true });
  const services = makeServices(join(dir, 'services'));
  const binds = [...services.binds, ...(config.binds ?? [])];
  const files = { dir: machineDir(dir), binds, etc };
  const { virtual } = config;
  const own = [join(dir, 'containerd'), join(dir, 'logs'), KUBELET_ROOT];
  const ownBinds =
    virtual === undefined ? [[ownRoot, KUBELET_ROOT] as const, makeLocalDisk(dir)] : [];
  if (virtual !== undefined) await makeDisk(files, virtual.archives);
  const onMachine: OnMachine = (command) =>
    virtual === undefined
      ? asMachine(machine, { ...files, binds: [...ownBinds, ...binds] }, command)
      : asVirtualMachine({ ...virtual, network, machine, files, own }, command);
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
        (command) => onMachine(services.kept('kubelet', command)),
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
          ...config.kubelet,
        },
        logFile,
      ),
    );
    const inside =
      virtual === undefined
        ? insideMachine(initOf(roles[0]?.pid ?? 0))
        : insideVirtualMachine(machine, virtual.keys);
    if (config.hasProxy !== false) {
      const proxyFlags = {
        kubeconfig: kubeconfig('proxy'),
        'hostname-override': node,
        'cluster-cidr': pods,
      };
      const kept: OnMachine = (command) => inside(services.kept('kube-proxy', command));
      roles.push(await startRole(`${node} proxy`, kept, 'proxy', proxyFlags, logFile));
    }
    services.keep(virtual && ((file) => void run(...inside(['touch', file]))));
    const containerdSocket = join(dir, 'containerd', 'containerd.sock');
    return { ...(virtual === undefined && { containerdSocket }), inside, stop };
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
