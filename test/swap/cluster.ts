// A cluster of six processes, each by our program or by upstream's, on a machine of its own: a
// network namespace, so that rules of service proxies and well-known ports are its own.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import { systemClock } from '#machinery/clock.ts';
import { registryDirIn } from '#runtime/containerd/index.ts';
import * as wait from '#machinery/wait.ts';
import { makeCgroup, removeCgroup } from './cgroup.ts';
import { type Cable, layCable, onOtherMachine, removeCable, run } from '../conformance/cable.ts';
import { cleanUp } from '../conformance/clean-up.ts';
import { type RunningCluster, removeNamespaces } from '../conformance/cluster.ts';
import { mirrorToml, readContent, serveRegistry } from '../conformance/registry.ts';
import {
  API_PORT,
  commandOf,
  configurations,
  dnsService,
  kubeletAccess,
  simulatedNode,
  type World,
} from './commands.ts';
import { type SwapNetwork, swapNetwork } from './network.ts';
import type { SwapPrograms } from './programs.ts';
import { makerOf, type Role, roles, type Swap } from './roles.ts';

const cox = fileURLToPath(new URL('../../bin/cox.js', import.meta.url));
const tsx = fileURLToPath(new URL('../../node_modules/tsx/dist/loader.mjs', import.meta.url));
const containerdProcess = fileURLToPath(new URL('containerd-process.ts', import.meta.url));

const NODE = 'swap';
/** The registry of the suite's images. */
const REGISTRY = 'registry.k8s.io';
const SIMULATED_NODES = ['swap-1', 'swap-2', 'swap-3'];
const ROLES_OF_NODES: readonly Role[] = ['kubelet', 'proxy', 'dns'];
const READY_TIMEOUT_MS = 180_000;
const POLL_MS = 500;
/** Identities beside the node's, by the names that `cox certs kubeconfig` takes. */
const IDENTITIES = ['admin', 'controller-manager', 'scheduler', 'proxy', 'dns'] as const;

export interface SwapClusterConfig {
  readonly swap: Swap;
  /**
   * Three nodes of ours without containers, in the place of kubelet, proxy and DNS; otherwise one
   * real node.
   */
  readonly simulated: boolean;
  /** The number of its addresses: see swapNetwork. */
  readonly network: number;
  /** Archives of images, which a real node pulls from a registry here. Default: published images. */
  readonly archives?: readonly string[];
  readonly programs: SwapPrograms;
  readonly kubectl: string;
  /** The directory of one log for each process. */
  readonly logDir: string;
}

/**
 * Resolves when the nodes are ready. Rejects with a UserError, which has the end of the log, if a
 * process ends or the time is up.
 */
export async function startSwapCluster(config: SwapClusterConfig): Promise<RunningCluster> {
  const { swap, simulated, programs, kubectl, logDir, archives = [] } = config;
  const nodes = simulated ? SIMULATED_NODES : [NODE];
  mkdirSync(logDir, { recursive: true });
  const dir = mkdtempSync(join(tmpdir(), 'cox-swap-'));
  const network = swapNetwork(config.network, simulated);
  const { cable } = network;
  const processes = new Processes(logDir, cable);
  // Steps that undo the start; the last one runs first.
  const undo: (() => Promise<void> | void)[] = [() => cleanUp(dir)];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    layCable(cable);
    undo.push(() => removeCable(cable));
    // The suite, on this machine, reaches pods and services as programs of the node do.
    for (const range of simulated ? [] : [network.pods, network.services]) {
      run('ip', 'route', 'replace', range, 'via', cable.secondAddress);
      undo.push(() => void spawnSync('ip', ['route', 'delete', range]));
    }
    if (!simulated && archives.length > 0) {
      const registry = await serveRegistry(
        await readContent(archives),
        REGISTRY,
        cable.firstAddress,
      );
      undo.push(() => registry.close());
      const mirrors = join(registryDirIn(join(dir, 'containerd')), REGISTRY);
      mkdirSync(mirrors, { recursive: true });
      writeFileSync(join(mirrors, 'hosts.toml'), mirrorToml(REGISTRY, registry));
    }
    if (!simulated && makerOf(swap, 'kubelet') === 'upstream') {
      makeCgroup(cable.namespace);
      undo.push(() => removeCgroup(cable.namespace));
    }
    undo.push(() => processes.stop());
    const containerd = simulated
      ? undefined
      : await processes.startUntilReady('containerd', [
          process.execPath,
          '--import',
          tsx,
          containerdProcess,
          join(dir, 'containerd'),
          network.nodePods,
        ]);
    const world = makeWorld(dir, containerd ?? '', programs, nodes, network);
    processes.start('etcd', [
      programs.etcd,
      `--data-dir=${join(dir, 'etcd')}`,
      '--unsafe-no-fsync',
    ]);
    const kubeconfig = join(dir, 'admin.conf');
    const admin = adminOf(kubectl, kubeconfig, processes);
    const start = (role: Role): void =>
      processes.start(role, commandOf(role, makerOf(swap, role), world));
    start('apiserver');
    await admin.until('the API server is ready', ['get', '--raw', '/readyz']);
    admin.apply(run(process.execPath, cox, 'dns', '--print-permissions'));
    admin.apply(kubeletAccess);
    for (const role of roles)
      if (role !== 'apiserver' && !(simulated && ROLES_OF_NODES.includes(role))) start(role);
    if (simulated)
      for (const [index, node] of nodes.entries())
        processes.start(node, simulatedNode(node, index, world));
    undo.push(() => removeNamespaces(kubectl, kubeconfig));
    if (!simulated && makerOf(swap, 'dns') === 'upstream') admin.apply(dnsService(world));
    await admin.until('the nodes are there', ['get', 'node', ...nodes]);
    await admin.until('the nodes are ready', [
      'wait',
      'node',
      ...nodes,
      '--for=condition=Ready',
      '--timeout=5s',
    ]);
    const containerdSockets = containerd === undefined ? [] : [containerd.replace('unix://', '')];
    return { kubeconfig, containerdSockets, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes certificates, identities and settings. */
function makeWorld(
  dir: string,
  runtimeEndpoint: string,
  programs: SwapPrograms,
  nodes: readonly string[],
  network: SwapNetwork,
): World {
  const address = network.cable.secondAddress;
  const pki = join(dir, 'pki');
  const server = `https://${address}:${API_PORT}`;
  const certs = (...args: readonly string[]): void =>
    void run(process.execPath, cox, 'certs', ...args, '--cert-dir', pki);
  certs('init', '--hosts', address);
  for (const node of nodes) certs('node', node, '--hosts', address);
  const kubeconfig = (identity: string, file = identity, ...more: readonly string[]): void =>
    certs('kubeconfig', identity, ...more, '--server', server, '-f', join(dir, `${file}.conf`));
  for (const identity of IDENTITIES) kubeconfig(identity);
  for (const node of nodes) kubeconfig('kubelet', node === NODE ? 'kubelet' : node, '--node', node);
  const world: World = {
    pki,
    dir,
    etcdUrl: 'http://127.0.0.1:2379',
    address,
    node: NODE,
    runtimeEndpoint,
    network,
    programs: programs.upstream,
  };
  for (const [name, text] of Object.entries(configurations(world)))
    writeFileSync(join(dir, name), text, { mode: 0o600 });
  return world;
}

interface Admin {
  /** Applies a manifest. Throws a UserError if that fails. */
  apply(manifest: string): void;
  /** Repeats a command of kubectl until it succeeds. */
  until(what: string, args: readonly string[]): Promise<void>;
}

function adminOf(kubectl: string, kubeconfig: string, processes: Processes): Admin {
  const flags = [`--kubeconfig=${kubeconfig}`, '--request-timeout=10s'];
  return {
    apply(manifest) {
      const { status, stderr } = spawnSync(kubectl, [...flags, 'apply', '-f', '-'], {
        input: manifest,
        encoding: 'utf8',
      });
      if (status !== 0) throw new UserError(`kubectl could not apply a manifest: ${stderr}`);
    },
    async until(what, args) {
      let last = '';
      const succeeds = (): boolean => {
        processes.check();
        const { status, stderr } = spawnSync(kubectl, [...flags, ...args], { encoding: 'utf8' });
        last = stderr;
        return status === 0;
      };
      const period = { clock: systemClock, intervalMs: POLL_MS, timeoutMs: READY_TIMEOUT_MS };
      try {
        await wait.pollImmediately(period, succeeds);
      } catch (error) {
        if (!(error instanceof wait.WaitTimeoutError)) throw error;
        throw new UserError(`timed out: ${what}; ${last.trim()}`, { cause: error });
      }
    },
  };
}

/** Processes on the machine, each with a log. They are stopped in the reverse order. */
class Processes {
  readonly #logDir: string;
  readonly #cable: Cable;
  readonly #children = new Map<string, ChildProcess>();

  constructor(logDir: string, cable: Cable) {
    this.#logDir = logDir;
    this.#cable = cable;
  }

  start(name: string, command: readonly string[]): void {
    const log = openSync(this.#logOf(name), 'w');
    const [program, ...args] = onOtherMachine(this.#cable, command);
    this.#children.set(name, spawn(program, args, { stdio: ['ignore', log, log], detached: true }));
    closeSync(log);
  }

  /** Resolves to what follows `ready: ` in the program's output. */
  async startUntilReady(name: string, command: readonly string[]): Promise<string> {
    const log = openSync(this.#logOf(name), 'w');
    const [program, ...args] = onOtherMachine(this.#cable, command);
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', log], detached: true });
    closeSync(log);
    this.#children.set(name, child);
    return await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout as Readable }).on('line', (line) => {
        if (line.startsWith('ready: ')) resolve(line.slice('ready: '.length));
      });
      child.once('error', reject);
      child.once('exit', () => reject(new UserError(this.#failure(name))));
    });
  }

  /** Throws a UserError with the end of its log if a process has ended. */
  check(): void {
    for (const [name, { exitCode, signalCode }] of this.#children) {
      if (exitCode !== null || signalCode !== null) throw new UserError(this.#failure(name));
    }
  }

  async stop(): Promise<void> {
    const children = [...this.#children.values()].reverse();
    this.#children.clear();
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.kill('SIGTERM');
      await ended;
    }
  }

  #failure(name: string): string {
    return `${name} ended:\n${readFileSync(this.#logOf(name), 'utf8').slice(-3000)}`;
  }

  #logOf(name: string): string {
    return join(this.#logDir, `${name}.log`);
  }
}
