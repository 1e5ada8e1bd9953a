// A containerd and a kubelet, ours or upstream's, each a process of its own.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#machinery/clock.ts';
import { freePorts } from '#machinery/net/testing/free-ports.ts';
import { createContainerdRuntime } from '#runtime/containerd/index.ts';
import { ensureCommand } from '../../test/conformance/binaries.ts';
import { cleanUp, removeCgroup } from '../../test/conformance/clean-up.ts';
import { NODE_FLAGS, PROGRAM } from '../built-cluster.ts';
import { endedWithRun } from '../clean-up.ts';
import { note } from '../report.ts';

export type Maker = 'ours' | 'upstream';

export interface NodeConfig {
  readonly maker: Maker;
  /** A new directory for all of the node's files. */
  readonly dir: string;
  /** The certificates of the cluster. */
  readonly pki: string;
  /** The URL of the API server. */
  readonly server: string;
  readonly maxPods: number;
  /** Flags of Node for our kubelet. */
  readonly nodeFlags?: readonly string[];
  /**
   * Hard eviction thresholds by signal, such as { 'nodefs.available': '1%' }. With them no images
   * are removed for space. Default: those of the kubelet.
   */
  readonly evictionHard?: Readonly<Record<string, string>>;
}

export interface RunningNode {
  /** The name of its Node. */
  readonly name: string;
  /** The process of the kubelet. */
  readonly pid: number;
  /** The socket of its containerd. */
  readonly endpoint: string;
  /** Throws if the kubelet or containerd has ended. */
  check(): void;
  /** Resolves when containerd has no sandbox. */
  untilEmpty(): Promise<void>;
  stop(): Promise<void>;
}

const POD_CIDR = '10.251.1.0/24';
/** Both kubelets have cgroups of pods below this one. */
const CGROUP = '/coxswain-bench';
const EMPTY_TIMEOUT_MS = 300_000;
const containerdProcess = fileURLToPath(
  new URL('../../test/swap/containerd-process.ts', import.meta.url),
);
const tsx = fileURLToPath(new URL('../../node_modules/tsx/dist/loader.mjs', import.meta.url));

export async function startNode(config: NodeConfig): Promise<RunningNode> {
  const { maker, dir, pki, server, maxPods, nodeFlags, evictionHard } = config;
  const name = `bench-${maker}`;
  mkdirSync(dir, { recursive: true });
  const certs = (...args: readonly string[]): void =>
    void execFileSync(process.execPath, [PROGRAM, 'certs', ...args, '--cert-dir', pki]);
  certs('node', name, '--hosts', '127.0.0.1');
  const kubeconfig = join(dir, 'kubelet.conf');
  certs('kubeconfig', 'kubelet', '--node', name, '--server', server, '-f', kubeconfig);
  const [port = 0, health = 0] = await freePorts(2);
  const containerd = start(dir, 'containerd', [
    process.execPath,
    '--import',
    tsx,
    containerdProcess,
    join(dir, 'containerd'),
    POD_CIDR,
  ]);
  const children: ChildProcess[] = [containerd];
  makeCgroups();
  const stop = async (): Promise<void> => {
    for (const child of children.splice(0).reverse()) await end(child);
    removeCgroup(CGROUP);
    cleanUp(dir);
  };
  try {
    const endpoint = await readyLine(containerd);
    const command =
      maker === 'ours'
        ? ours({ kubeconfig, pki, dir, name, port, endpoint, maxPods, nodeFlags, evictionHard })
        : upstream({ kubeconfig, pki, dir, name, port, health, endpoint, maxPods, evictionHard });
    const kubelet = start(dir, 'kubelet', command);
    children.push(kubelet);
    const runtime = createContainerdRuntime({ endpoint, clock: systemClock });
    return {
      name,
      pid: kubelet.pid!,
      endpoint,
      check() {
        if (children.some(hasEnded)) throw new Error('a process of the node has ended');
      },
      async untilEmpty() {
        const deadline = systemClock.monotonic() + EMPTY_TIMEOUT_MS;
        while ((await runtime.runtime.listPodSandbox()).length > 0) {
          if (systemClock.monotonic() > deadline) throw new Error('sandboxes are left');
          await systemClock.sleep(500);
        }
      },
      async stop() {
        await runtime.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const CGROUP_MOUNTS = '/sys/fs/cgroup';

/** Returns the bench's directory in each hierarchy of cgroups v1, or the one of v2. */
function cgroupDirectories(): readonly string[] {
  const mounts = existsSync(join(CGROUP_MOUNTS, 'cgroup.controllers'))
    ? [CGROUP_MOUNTS]
    : readdirSync(CGROUP_MOUNTS).map((name) => join(CGROUP_MOUNTS, name));
  return mounts.map((mount) => join(mount, CGROUP));
}

/** Makes the root of the pods' cgroups, which upstream's kubelet expects to be there. */
function makeCgroups(): void {
  for (const directory of cgroupDirectories()) {
    mkdirSync(directory, { recursive: true });
    // A new cpuset has no processors, and its children none either.
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      if (existsSync(join(directory, '..', 'cpuset.cpu_exclusive')))
        writeFileSync(join(directory, file), readFileSync(join(directory, '..', file)));
  }
}

interface KubeletSettings {
  readonly kubeconfig: string;
  readonly pki: string;
  readonly dir: string;
  readonly name: string;
  readonly port: number;
  readonly endpoint: string;
  readonly maxPods: number;
  readonly evictionHard: NodeConfig['evictionHard'];
}

function ours(settings: KubeletSettings & Pick<NodeConfig, 'nodeFlags'>): readonly string[] {
  const { kubeconfig, pki, dir, name, port, endpoint, maxPods, nodeFlags, evictionHard } = settings;
  const thresholds = Object.entries(evictionHard ?? {}).map((entry) => entry.join('<'));
  return [
    process.execPath,
    ...NODE_FLAGS,
    ...(nodeFlags ?? []),
    PROGRAM,
    'kubelet',
    `--kubeconfig=${kubeconfig}`,
    `--cert-dir=${pki}`,
    `--data-dir=${join(dir, 'node')}`,
    `--hostname-override=${name}`,
    '--node-ip=127.0.0.1',
    `--port=${port}`,
    `--container-runtime-endpoint=${endpoint}`,
    `--cgroup-root=${CGROUP}`,
    `--max-pods=${maxPods}`,
    ...(evictionHard === undefined
      ? []
      : [`--eviction-hard=${thresholds.join()}`, '--image-gc-high-threshold=100']),
  ];
}

function upstream(settings: KubeletSettings & { readonly health: number }): readonly string[] {
  const { kubeconfig, pki, dir, name, port, health, endpoint, maxPods, evictionHard } = settings;
  const config = join(dir, 'kubelet.yaml');
  // JSON is YAML, too.
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile: join(pki, 'ca.crt') },
      },
      authorization: { mode: 'Webhook' },
      tlsCertFile: join(pki, `kubelet-${name}.crt`),
      tlsPrivateKeyFile: join(pki, `kubelet-${name}.key`),
      containerRuntimeEndpoint: endpoint,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: CGROUP,
      failCgroupV1: false,
      failSwapOn: false,
      maxPods,
      port,
      healthzPort: health,
      resolvConf: '/etc/resolv.conf',
      ...(evictionHard !== undefined && { evictionHard, imageGCHighThresholdPercent: 100 }),
    }),
  );
  return [
    ensureCommand('kubelet', note),
    `--kubeconfig=${kubeconfig}`,
    `--config=${config}`,
    `--root-dir=${join(dir, 'node')}`,
    `--hostname-override=${name}`,
    '--node-ip=127.0.0.1',
  ];
}

/** Starts a process with a log of its errors. */
function start(
  dir: string,
  name: string,
  [program = '', ...args]: readonly string[],
): ChildProcess {
  const log = openSync(join(dir, `${name}.log`), 'w');
  const child = endedWithRun(spawn(program, args, { stdio: ['ignore', 'pipe', log] }));
  closeSync(log);
  child.once('exit', (code) => {
    if (code !== 0 && code !== null)
      note(`${name} ended: ${readFileSync(join(dir, `${name}.log`), 'utf8').slice(-2000)}`);
  });
  return child;
}

/** Resolves with the text after `ready: ` in the program's output. */
function readyLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line.startsWith('ready: ')) resolve(line.slice('ready: '.length));
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error('containerd ended before it was ready')));
  });
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  await exited;
}
