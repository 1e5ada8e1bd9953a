// Starts the cluster of a conformance run with the README's command, in a data directory that is
// removed with it.

import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import { cleanUp } from './clean-up.ts';
import { layCable, removeCable, run } from './cable.ts';
import { EVICTION_HARD, type Network, networkOf, startJoinedNode } from './joined-node.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface RunningCluster {
  readonly kubeconfig: string;
  /** The socket of each containerd that runs the cluster's containers; empty on simulated nodes. */
  readonly containerdSockets: readonly string[];
  /** The root directory of the kubelets, the same path on each node; undefined on simulated nodes. */
  readonly kubeletRoot?: string;
  /** The number of nodes; undefined on simulated nodes. */
  readonly nodes?: number;
  stop(): Promise<void>;
}

/**
 * Returns the flags of `npm run up`. There are several nodes, as tests move pods between them. Real
 * nodes are this machine, where another cluster may use the default addresses, so they get others.
 */
const upFlags = (
  simulated: boolean,
  kubeletRoot: string,
  { pods, services, machines }: Network,
): readonly string[] =>
  simulated
    ? ['--runtime', 'simulated', '--nodes', '3', '--store', 'memory']
    : [
        ['--runtime', 'containerd', '--pod-cidr', pods, '--service-cidr', services],
        ['--bind', machines[0].cable.firstAddress, '--root-dir', kubeletRoot],
        ['--eviction-hard', EVICTION_HARD],
      ].flat();

export interface ClusterConfig {
  /** Three simulated nodes; otherwise real ones. */
  readonly simulated: boolean;
  /** The number of real nodes: from one to three. */
  readonly nodes: number;
  /** The number of its network: see networkOf. Default: 0. */
  readonly network?: number;
  /** Whether the first node has the reference CSI driver. */
  readonly csiDriver: boolean;
  /** The file of the cluster's log. */
  readonly logFile: string;
  /** Path of kubectl, which removes the cluster's remaining objects when it stops. */
  readonly kubectl: string;
}

/**
 * Resolves when the cluster is ready. Rejects with a UserError, which has the last lines of its
 * log, if it ends instead.
 */
export async function startCluster({
  simulated,
  nodes,
  network: networkNumber = 0,
  csiDriver,
  logFile,
  kubectl,
}: ClusterConfig): Promise<RunningCluster> {
  // Short, since the path of a socket has at most 107 characters, and drivers name theirs after pods.
  const dir = mkdtempSync(join(tmpdir(), 'cox-'));
  // Steps that undo the start; the last one runs first.
  const undo: (() => Promise<void> | void)[] = [() => cleanUp(dir)];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    writeFileSync(logFile, '');
    const network = networkOf(networkNumber);
    const machines = network.machines.slice(0, nodes - 1);
    if (!simulated) {
      // Another run may have a cable: only the run that laid it removes it.
      // The first node has the address of a cable's end, so even one node alone needs a cable.
      for (const { cable } of network.machines.slice(0, Math.max(1, machines.length))) {
        layCable(cable);
        undo.push(() => removeCable(cable));
      }
    }
    const first = join(dir, 'cluster');
    const kubeletRoot = join(dir, 'kubelet');
    mkdirSync(kubeletRoot);
    const flags = [
      ...upFlags(simulated, kubeletRoot, network),
      ...(csiDriver ? ['--csi-driver'] : []),
    ];
    undo.push(await startUp(first, flags, logFile));
    const kubeconfig = join(first, 'kubeconfig');
    if (simulated) return { kubeconfig, containerdSockets: [], stop };
    const containerdSockets = [join(first, 'containerd', 'containerd.sock')];
    for (const machine of machines) {
      const node = await startJoinedNode(
        network,
        machine,
        join(dir, machine.node),
        first,
        kubeletRoot,
        logFile,
      );
      undo.push(() => node.stop());
      containerdSockets.push(node.containerdSocket);
    }
    labelZones(kubectl, kubeconfig);
    undo.push(() => removeNamespaces(kubectl, kubeconfig));
    return { kubeconfig, containerdSockets, kubeletRoot, nodes: machines.length + 1, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs `npm run up` and waits until it is ready. Returns a function that stops it. */
async function startUp(
  dataDir: string,
  more: readonly string[],
  logFile: string,
): Promise<() => Promise<void>> {
  const flags = ['--data-dir', dataDir, '--secure-port', '0', '--quiet', ...more];
  const child = spawn('npm', ['run', '--silent', 'up', '--', ...flags], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    appendFileSync(logFile, `${line}\n`);
    said.push(line);
    if (said.length > 20) said.shift();
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('cluster ready')) resolve();
    });
    child.once('error', reject);
    void ended.then(() => reject(new UserError(`no cluster was started:\n${said.join('\n')}`)));
  });
  const stop = async (): Promise<void> => {
    // The signal goes to the whole process group: npm does not always pass it on.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await ended;
  };
  try {
    await ready;
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

/** Puts each node into a zone of its own. */
function labelZones(kubectl: string, kubeconfig: string): void {
  const on = [`--kubeconfig=${kubeconfig}`];
  const names = run(kubectl, ...on, 'get', 'nodes', '-o', 'name')
    .trim()
    .split('\n');
  for (const [index, name] of names.entries())
    run(kubectl, ...on, 'label', name, `topology.kubernetes.io/zone=zone-${index + 1}`);
}

/** Deletes all namespaces of tests, since a cluster that stops leaves its containers running. */
export function removeNamespaces(kubectl: string, kubeconfig: string): void {
  const on = [`--kubeconfig=${kubeconfig}`, '--request-timeout=10s'];
  const { stdout } = spawnSync(kubectl, [...on, 'get', 'namespaces', '-o', 'name'], {
    encoding: 'utf8',
  });
  const left = stdout
    .split('\n')
    .filter((name) => name !== '' && !/\/(?:default|kube-[\w-]+)$/.test(name));
  if (left.length > 0)
    spawnSync(kubectl, [`--kubeconfig=${kubeconfig}`, 'delete', '--timeout=60s', ...left]);
  spawnSync(kubectl, [
    `--kubeconfig=${kubeconfig}`,
    'delete',
    'pods',
    '--all',
    '--all-namespaces',
    '--timeout=60s',
  ]);
}
