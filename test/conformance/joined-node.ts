// One more real node on this machine: a kubelet with a containerd of its own and a service proxy, in
// a network namespace of their own. It joins the cluster as docs/running-apart.md describes. A pair
// of interfaces is the cable between the two machines; routes to each other's pods are the
// product's.

import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import { type Cable, onOtherMachine, run, asMachine } from './cable.ts';

const cox = fileURLToPath(new URL('../../bin/cox.js', import.meta.url));

/** Machines that run tests are often nearly full, and tests of pods need no tenth of the disk. */
export const EVICTION_HARD =
  'memory.available<100Mi,nodefs.available<2%,nodefs.inodesFree<1%,imagefs.available<2%';

/** A node, and the cable to its machine. */
export interface Machine {
  readonly node: string;
  readonly cable: Cable;
}

/** Addresses of a cluster of this machine that no other cluster uses. */
export interface Network {
  readonly pods: string;
  readonly services: string;
  /** The address of the Service `kube-dns`. */
  readonly dns: string;
  /** The machines that join this one. The API server listens on this end of the first cable. */
  readonly machines: readonly [Machine, Machine];
}

/** Returns a network. Runs at the same time have different numbers, from 0 to 3. */
export function networkOf(number: number): Network {
  const suffix = number === 0 ? '' : `-${number}`;
  const links = `10.251.${number === 0 ? 255 : 200 + number}`;
  const machine = (node: string, index: number): Machine => ({
    node,
    cable: {
      namespace: `cox-conformance${suffix}${index === 0 ? '' : `-${node}`}`,
      name: `coxconf${number * 2 + index}`,
      firstAddress: `${links}.${index * 4 + 1}`,
      secondAddress: `${links}.${index * 4 + 2}`,
    },
  });
  return {
    pods: `10.${number === 0 ? 250 : 240 + number}.0.0/16`,
    services: `10.${96 + number}.0.0/16`,
    dns: `10.${96 + number}.0.10`,
    machines: [machine('second', 0), machine('third', 1)],
  };
}

export interface JoinedNode {
  readonly containerdSocket: string;
  /** Stops the node. Its containers keep running: remove the pods before. */
  stop(): Promise<void>;
}

/**
 * Starts the node in `dir`. `clusterDir` is the data directory of the cluster that it joins, whose
 * kubeconfig names an address that the node can reach. `kubeletRoot` is the root directory of the
 * other node's kubelet: tests expect the same path on all nodes, so this node has a directory of its
 * own at that path. Resolves when the node reports that it is ready; rejects with a UserError if it
 * ends instead.
 */
export async function startJoinedNode(
  { pods, dns }: Network,
  { node, cable }: Machine,
  dir: string,
  clusterDir: string,
  kubeletRoot: string,
  logFile: string,
): Promise<JoinedNode> {
  const ownRoot = join(dir, 'kubelet-root');
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
  run(
    process.execPath,
    cox,
    'certs',
    'node',
    node,
    '--cert-dir',
    pki,
    '--hosts',
    cable.secondAddress,
  );
  const machine = { node, cable, logFile };
  const roles: Role[] = [];
  const stop = async (): Promise<void> => {
    for (const role of roles.splice(0).reverse()) await role.stop();
  };
  try {
    roles.push(
      await startRole(
        'kubelet',
        machine,
        (command) => asMachine(node, { directory: ownRoot, path: kubeletRoot }, command),
        {
          kubeconfig: kubeconfig('kubelet', '--node', node),
          'cert-dir': pki,
          'data-dir': dir,
          'root-dir': kubeletRoot,
          runtime: 'containerd',
          'image-gc-high-threshold': '100',
          'hostname-override': node,
          'node-ip': cable.secondAddress,
          'cluster-cidr': pods,
          'cluster-dns': dns,
          'eviction-hard': EVICTION_HARD,
          'network-policy-kubeconfig': kubeconfig('network-policy'),
        },
      ),
    );
    const proxyFlags = {
      kubeconfig: kubeconfig('proxy'),
      'hostname-override': node,
      'cluster-cidr': pods,
    };
    roles.push(await startRole('proxy', machine, (command) => command, proxyFlags));
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
 * Starts `cox ROLE` in the node's network namespace. Resolves when it reports that it is ready;
 * rejects with a UserError if it ends instead.
 */
async function startRole(
  name: string,
  { node, cable, logFile }: Machine & { readonly logFile: string },
  wrap: (command: readonly string[]) => readonly string[],
  flags: Readonly<Record<string, string>>,
): Promise<Role> {
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  const [program, ...rest] = onOtherMachine(cable, wrap([process.execPath, cox, name, ...args]));
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
  };
  try {
    await ready(`${node} ${name}`, child, ended, logFile);
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
