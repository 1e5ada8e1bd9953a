// Starts the cluster of a conformance run with the README's command, in a data directory that is
// removed with it.

import { spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import { cacheDir, requiredVersion } from './binaries.ts';
import { cleanUp, removeCgroup } from './clean-up.ts';
import { run } from './cable.ts';
import {
  createCsiObjects,
  makeAttachable,
  makeDefaultClass,
  startCsiDriver,
} from './csi/node-driver.ts';
import { cgroupRootOf, EVICTION_HARD, machineDir, startJoinedNode } from './joined-node.ts';
import {
  asMachine,
  endGroup,
  initOf,
  insideMachine,
  KUBELET_ROOT,
  layNetwork,
  type Machine,
  type Network,
  networkOf,
  removeNetwork,
  routePods,
  startGroup,
} from './machines.ts';
import { makeLocalDisk } from './local-disk.ts';
import { busyboxIn } from './images.ts';
import type { Nodes } from './needs.ts';
import { makeKeys, type SshKeys, startSshd } from './ssh.ts';
import {
  completeNodes,
  type FirstNode,
  startStaticPods,
  STATIC_NODE,
  type StaticPodsConfig,
} from './static-pods.ts';
import { ensureKernel } from './virtual-machine.ts';
import { mirrorToml, readContent, serveRegistry } from './registry.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface RunningCluster {
  readonly kubeconfig: string;
  /** The socket of each containerd that runs the cluster's containers; empty on simulated nodes. */
  readonly containerdSockets: readonly string[];
  /** The root directory of the kubelets, the same path on each node; undefined on simulated nodes. */
  readonly kubeletRoot?: string;
  /** The number of nodes; undefined on simulated nodes. */
  readonly nodes?: number;
  /** Whether volumes of the CSI driver do not wait for their first pod. Default: false. */
  readonly immediateVolumes?: boolean;
  /** How the suite logs in to the nodes. Absent: it cannot. */
  readonly ssh?: Pick<SshKeys, 'clientKey'>;
  /**
   * Upstream's name of the kind of installation, for the suite: 'local' is one whose nodes it can log
   * in to, 'aws' one that has a default storage class. Default: 'skeleton', none in particular.
   */
  readonly provider?: 'local' | 'aws';
  /**
   * Upstream's name of the nodes' distribution, for the suite, which runs tests of AppArmor only on
   * 'gci' and 'ubuntu': Debian's kernel has it, too. Default: 'debian'.
   */
  readonly distribution?: 'ubuntu';
  /** Starts pods of the cluster itself. To be called when the nodes have the images. */
  startPods?(): void;
  stop(): Promise<void>;
}

/** The flags of `npm run up` for three simulated nodes: tests move pods between nodes. */
const SIMULATED = '--runtime simulated --nodes 3 --store memory --secure-port 0'.split(' ');

/** Returns the flags of `npm run up` on the first machine. */
const realFlags = ({ pods, services, machines: [first] }: Network): readonly string[] =>
  [
    ['--runtime', 'containerd', '--pod-cidr', pods, '--service-cidr', services],
    ['--bind', first.address, '--root-dir', KUBELET_ROOT],
    ['--eviction-hard', EVICTION_HARD, '--cgroup-root', cgroupRootOf(first)],
    // Tests of dynamic resource allocation use these; upstream's own jobs turn them on.
    ['--runtime-config', 'resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true'],
  ].flat();

export interface ClusterConfig {
  /** Three simulated nodes; otherwise real ones. */
  readonly simulated: boolean;
  /** The real nodes: from one to six, one for 'immediate', three for 'aws', two for other names. */
  readonly nodes: Nodes;
  /** The number of its network: see networkOf. Default: 0. */
  readonly network?: number;
  /** Whether the nodes have the reference CSI driver. */
  readonly csiDriver: boolean;
  /** The file of the cluster's log. */
  readonly logFile: string;
  /** Path of kubectl, which removes the cluster's remaining objects when it stops. */
  readonly kubectl: string;
  /** Archives of images, which real nodes get from a registry. Default: published images. */
  readonly archives?: readonly string[];
  /** A directory for what is made once. Default: that of the programs of the suite. */
  readonly cache?: string;
}

/** A handler that tests of RuntimeClasses look for in this file, as upstream's own jobs configure it. */
const HANDLERS = `version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.test-handler]
  runtime_type = "io.containerd.runc.v2"
`;

/** The hosts of images: of those of tests, and of the product's. */
const REGISTRIES = ['registry.k8s.io', 'docker.io'];

/**
 * Resolves when the cluster is ready. Rejects with a UserError, which has the last lines of its
 * log, if it ends instead.
 */
export async function startCluster({
  simulated,
  nodes: places,
  network: networkNumber = 0,
  csiDriver,
  logFile,
  kubectl,
  archives = [],
  cache = cacheDir(requiredVersion()),
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
    if (simulated) {
      const clusterDir = join(dir, 'cluster');
      const up = await startUp(clusterDir, SIMULATED, logFile, (command) => command);
      undo.push(() => up.stop());
      return { kubeconfig: join(clusterDir, 'kubeconfig'), containerdSockets: [], stop };
    }
    const nodes = typeof places === 'number' ? places : countOf(places);
    const network = networkOf(networkNumber);
    const [machine, ...others] = network.machines;
    const joined = others.slice(0, nodes - 1);
    layNetwork(network, nodes);
    undo.push(() => removeNetwork(network));
    for (const each of [machine, ...joined]) undo.push(() => removeCgroup(cgroupRootOf(each)));
    // The mount point of the directory of each machine.
    mkdirSync(KUBELET_ROOT, { recursive: true });
    const etc: Record<string, string> = { 'containerd/config.toml': HANDLERS };
    if (archives.length > 0) {
      const content = await readContent(archives);
      for (const host of REGISTRIES) {
        const registry = await serveRegistry(content, host, network.gateway);
        undo.push(() => registry.close());
        etc[`containerd/certs.d/${host}/hosts.toml`] = mirrorToml(host, registry);
      }
    }
    const hasKeys = ['workers', 'local', 'static', 'kernel'].includes(String(places));
    const ssh = hasKeys ? makeKeys(join(dir, 'ssh')) : undefined;
    const virtual =
      places === 'kernel' && ssh !== undefined
        ? { kernel: ensureKernel(cache, busyboxIn(cache)), keys: ssh, archives }
        : undefined;
    const isStatic = places === 'static';
    const start = isStatic ? startStaticPods : startFirst;
    const first = await start({ network, dir: join(dir, 'first'), etc, logFile });
    undo.push(() => first.stop());
    const { clusterDir } = first;
    const kubeconfig = join(clusterDir, 'kubeconfig');
    const nodesOf = [{ machine, inside: first.inside }];
    const containerdSockets = [first.containerdSocket ?? []].flat();
    for (const other of joined) {
      const node = await startJoinedNode({
        network,
        machine: other,
        dir: join(dir, other.node),
        clusterDir,
        etc,
        logFile,
        ...(isStatic && STATIC_NODE),
        ...(virtual !== undefined && { virtual }),
      });
      undo.push(() => node.stop());
      if (node.containerdSocket !== undefined) containerdSockets.push(node.containerdSocket);
      nodesOf.push({ machine: other, inside: node.inside });
    }
    if (isStatic) await completeNodes(kubectl, clusterDir, network, [machine, ...joined]);
    const hasDefaultClass = places === 'aws' || isStatic;
    if (csiDriver || hasDefaultClass) {
      createCsiObjects(kubectl, kubeconfig, dir);
      if (isStatic) makeAttachable(kubectl, kubeconfig);
      for (const each of nodesOf) {
        const driver = await startCsiDriver({ ...each, dir, clusterDir, logFile });
        undo.push(() => driver.stop());
      }
    }
    if (hasDefaultClass) makeDefaultClass(kubectl, kubeconfig);
    for (const each of [machine, ...joined]) routePods(podCidrOf(kubectl, kubeconfig, each), each);
    labelZones(kubectl, kubeconfig);
    if (hasKeys && !isStatic) {
      const taint = 'node-role.kubernetes.io/control-plane:NoSchedule';
      run(kubectl, `--kubeconfig=${kubeconfig}`, 'taint', 'node', machine.node, taint);
    }
    // A virtual machine has its server from the start.
    for (const each of ssh === undefined
      ? []
      : virtual === undefined
        ? nodesOf
        : nodesOf.slice(0, 1)) {
      const sshd = await startSshd({
        ...each,
        keys: ssh as SshKeys,
        dir: join(dir, 'ssh'),
        logFile,
      });
      undo.push(() => sshd.stop());
    }
    // A test reads the results of health checks, which a kubelet asks an API server in a pod for.
    run(kubectl, `--kubeconfig=${kubeconfig}`, 'get', '--raw', '/readyz');
    undo.push(() => removeNamespaces(kubectl, kubeconfig));
    return {
      kubeconfig,
      // Images of such a cluster are pulled: few are needed.
      containerdSockets: isStatic || virtual !== undefined ? [] : containerdSockets,
      kubeletRoot: KUBELET_ROOT,
      nodes,
      ...(ssh !== undefined && { ssh }),
      ...(places === 'local' && { provider: places }),
      ...(hasDefaultClass && { provider: 'aws' }),
      ...(virtual !== undefined && { distribution: 'ubuntu' }),
      ...(places === 'immediate' && { immediateVolumes: true }),
      ...(places === 'dns' && { startPods: () => startDnsPods(kubectl, kubeconfig) }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts the first node: a whole cluster in one process. */
async function startFirst({ network, dir, etc, logFile }: StaticPodsConfig): Promise<FirstNode> {
  const [machine] = network.machines;
  const ownRoot = join(dir, 'kubelet');
  mkdirSync(ownRoot, { recursive: true });
  const clusterDir = join(dir, 'cluster');
  const binds = [[ownRoot, KUBELET_ROOT] as const, makeLocalDisk(dir)];
  const files = { dir: machineDir(dir), binds, etc };
  const onMachine = (command: readonly string[]): readonly [string, ...string[]] =>
    asMachine(machine, files, command);
  const up = await startUp(clusterDir, realFlags(network), logFile, onMachine);
  return {
    clusterDir,
    containerdSocket: join(clusterDir, 'containerd', 'containerd.sock'),
    inside: insideMachine(initOf(up.pid)),
    stop: up.stop,
  };
}

/**
 * Runs `npm run up` and waits until it is ready. `wrap` makes the command that starts it. Returns the
 * process of that command, and a function that stops it.
 */
async function startUp(
  dataDir: string,
  more: readonly string[],
  logFile: string,
  wrap: (command: readonly [string, ...string[]]) => readonly [string, ...string[]],
): Promise<{ readonly pid: number; stop(): Promise<void> }> {
  const flags = ['--data-dir', dataDir, '--quiet', ...more];
  const child = startGroup(wrap(['npm', 'run', '--silent', 'up', '--', ...flags]), root);
  const said: string[] = [];
  createInterface({ input: child.stderr as Readable }).on('line', (line) => {
    appendFileSync(logFile, `${line}\n`);
    said.push(line);
    if (said.length > 20) said.shift();
  });
  let isEnded = false;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve())).then(
    () => void (isEnded = true),
  );
  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout as Readable }).on('line', (line) => {
      if (line.startsWith('cluster ready')) resolve();
    });
    child.once('error', reject);
    void ended.then(() => reject(new UserError(`no cluster was started:\n${said.join('\n')}`)));
  });
  const stop = async (): Promise<void> => {
    // The signal goes to the whole process group: npm does not always pass it on.
    if (!isEnded) endGroup(child);
    await ended;
  };
  try {
    await ready;
  } catch (error) {
    await stop();
    throw error;
  }
  return { pid: child.pid ?? 0, stop };
}

/** Returns the range of a node's pods. */
function podCidrOf(kubectl: string, kubeconfig: string, { node }: Machine): string {
  const path = 'jsonpath={.spec.podCIDR}';
  return run(kubectl, `--kubeconfig=${kubeconfig}`, 'get', 'node', node, '-o', path);
}

/** Moves the cluster's DNS into pods, as the example does. */
function startDnsPods(kubectl: string, kubeconfig: string): void {
  const on = [`--kubeconfig=${kubeconfig}`, '-n', 'kube-system'];
  run(kubectl, ...on, 'apply', '-f', join(root, 'examples', 'dns', 'dns.yaml'));
  run(kubectl, ...on, 'rollout', 'status', 'deployment/coredns', '--timeout=120s');
}

const countOf = (places: Exclude<Nodes, number>): number =>
  places === 'immediate' ? 1 : places === 'aws' ? 3 : 2;

/** Puts the nodes into three zones in turn. */
function labelZones(kubectl: string, kubeconfig: string): void {
  const on = [`--kubeconfig=${kubeconfig}`];
  const names = run(kubectl, ...on, 'get', 'nodes', '-o', 'name')
    .trim()
    .split('\n');
  for (const [index, name] of names.entries())
    run(kubectl, ...on, 'label', name, `topology.kubernetes.io/zone=zone-${(index % 3) + 1}`);
}

/** Deletes all namespaces of tests: `cox up` leaves containers running when it stops. */
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
