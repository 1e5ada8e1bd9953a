// One more real node: a kubelet with a containerd of its own and a service proxy, on a machine of
// their own (machines.ts). It joins the cluster as docs/running-apart.md describes. Routes to the
// pods of other nodes are the product's.

import type { ChildProcess } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import { run } from './cable.ts';
import {
  asMachine,
  endGroup,
  type Machine,
  type MachineFiles,
  type Network,
  onMachine,
  startGroup,
} from './machines.ts';

const cox = fileURLToPath(new URL('../../bin/cox.js', import.meta.url));

/** Machines that run tests are often nearly full, and tests of pods need no tenth of the disk. */
export const EVICTION_HARD =
  'memory.available<100Mi,nodefs.available<2%,nodefs.inodesFree<1%,imagefs.available<2%';

/** Returns the cgroup of a node's pods: nodes share the machine's hierarchy. */
export const cgroupRootOf = ({ namespace }: Machine): string => `/${namespace}`;

export interface JoinedNode {
  readonly containerdSocket: string;
  /** Stops the node with its containers. */
  stop(): Promise<void>;
}

/**
 * Starts the node in `dir`. `clusterDir` is the data directory of the cluster that it joins, whose
 * kubeconfig names an address that the node can reach. `kubeletRoot` is the root directory of the
 * other node's kubelet: tests expect the same path on all nodes, so this node has a directory of its
 * own at that path. `etc`: see MachineFiles. Resolves when the node reports that it is ready; rejects
 * with a UserError if it ends instead.
 */
export async function startJoinedNode(
  { pods, dns }: Network,
  machine: Machine,
  dir: string,
  clusterDir: string,
  kubeletRoot: string,
  etc: MachineFiles['etc'],
  logFile: string,
): Promise<JoinedNode> {
  const { node, address } = machine;
  const ownRoot = join(dir, 'kubelet-root');
  const files = { dir: join(dir, 'machine'), directory: ownRoot, path: kubeletRoot, etc };
  mkdirSync(ownRoot, { recursive: true });
  const pki = join(clusterDir, 'pki');
  const server =
    /^ *server: (\S+)$/m.exec(readFileSync(join(clusterDir, 'kubeconfig'), 'utf8'))?.[1] ?? '';
  const kubeconfig = (role: string, ...flags: readonly string[]): string => {
    const file = join(dir, `${role}.conf`);
    run(
      process.execPath,
      cox,
      'certs',
      'kubeconfig',
      role,
      ...flags,
      '--cert-dir',
      pki,
      '--server',
      server,
      '--file',
      file,
    );
    return file;
  };
  run(process.execPath, cox, 'certs', 'node', node, '--cert-dir', pki, '--hosts', address);
  const roles: Role[] = [];
  const stop = async (): Promise<void> => {
    for (const role of roles.splice(0).reverse()) await role.stop();
  };
  try {
    roles.push(
      await startRole(
        `${node} kubelet`,
        (command) => asMachine(machine, files, command),
        'kubelet',
        {
          kubeconfig: kubeconfig('kubelet', '--node', node),
          'cert-dir': pki,
          'data-dir': dir,
          'root-dir': kubeletRoot,
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
    const inNetwork = (command: readonly string[]): readonly [string, ...string[]] =>
      onMachine(machine, command);
    roles.push(await startRole(`${node} proxy`, inNetwork, 'proxy', proxyFlags, logFile));
  } catch (error) {
    await stop();
    throw error;
  }
  return { containerdSocket: join(dir, 'containerd', 'containerd.sock'), stop };
}

interface Role {
  stop(): Promise<void>;
}

/**
 * Starts `cox ROLE` on a machine; `wrap` makes the command that does it. Resolves when the role
 * reports that it is ready; rejects with a UserError if it ends instead.
 */
async function startRole(
  name: string,
  wrap: (command: readonly string[]) => readonly [string, ...string[]],
  role: string,
  flags: Readonly<Record<string, string>>,
  logFile: string,
): Promise<Role> {
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  const child = startGroup(wrap([process.execPath, cox, role, ...args]));
  let isEnded = false;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve())).then(
    () => void (isEnded = true),
  );
  const stop = async (): Promise<void> => {
    if (!isEnded) endGroup(child);
    await ended;
  };
  try {
    await ready(name, child, ended, logFile);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

async function ready(
  name: string,
  child: ChildProcess,
  ended: Promise<void>,
  logFile: string,
): Promise<void> {
  const lastLines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        appendFileSync(logFile, `${name}: ${line}\n`);
        lastLines.push(line);
        if (line.startsWith('ready:')) resolve();
      });
    }
    child.once('error', reject);
    const failure = (): Error =>
      new UserError(`${name} was not started:\n${lastLines.slice(-20).join('\n')}`);
    void ended.then(() => reject(failure()));
  });
}
