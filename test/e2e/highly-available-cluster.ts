// The cluster of docs/high-availability.md: its commands are run as they stand there, behind a load
// balancer, and with an etcd cluster of three members.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { configMaps } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import { systemClock } from '#machinery/clock.ts';
import { freePorts } from '#machinery/net/testing/free-ports.ts';
import { type EtcdProcess, startEtcdCluster } from '#storage/etcd/testing/etcd-process.ts';
import { coxArgs, eventually, run, temporaryDir } from './harness.ts';
import { LoadBalancer } from './load-balancer.ts';

export const NAMESPACE = 'default';
const DOCUMENT = new URL('../../docs/high-availability.md', import.meta.url);
/** Returns the commands of the document's first shell block, with these values of variables. */
function commandsOf(text: string, variables: Readonly<Record<string, string>>): string[][] {
  const block = /```sh\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
  const values = new Map<string, string>();
  for (const [, name = '', plain] of block.matchAll(/^([A-Z]+)=(.*)$/gm))
    values.set(name, variables[name] ?? plain?.replaceAll('"', '') ?? '');
  return [...block.matchAll(/^cox (.*)$/gm)].map(([, line = '']) =>
    line.replaceAll(/\$([A-Z]+)/g, (_, name: string) => values.get(name) ?? '').split(' '),
  );
}

/** A process of the example. */
export class Role {
  readonly name: string;
  readonly port: number;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #ended: Promise<number> = Promise.resolve(0);
  #stderr = '';

  constructor(args: readonly string[], port: number) {
    this.name = args[0] ?? '';
    this.port = port;
    this.#args = args;
  }

  /** Resolves when the role is ready. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [...coxArgs, ...this.#args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-20_000);
    });
    this.#ended = new Promise((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
    let stdout = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk.toString('utf8');
        if (/^ready: /m.test(stdout)) resolve();
      });
      void this.#ended.then((code) =>
        reject(new Error(`cox ${this.name} ended with ${code}:\n${stdout}\n${this.#stderr}`)),
      );
    });
  }

  /** Sends the signal. Resolves with the exit status when the process has ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
    this.#child?.kill(signal);
    return this.#ended;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(name);
  }

  /** Returns the last 20,000 characters of its log. */
  get logs(): string {
    return this.#stderr;
  }
}

/** Creates a ConfigMap. Resolves, when that was acknowledged, to the function that reads it. */
export type Write = (name: string) => Promise<() => Promise<unknown>>;

/** Returns writers that share the client. */
export const writers = (client: Client, count: number): readonly Write[] => {
  const resource = client.resource(configMaps).namespace(NAMESPACE);
  return Array.from({ length: count }, () => async (name: string) => {
    await resource.create({ metadata: { name } });
    return () => resource.get(name);
  });
};

/**
 * Writers and readers that never stop: each writer creates ConfigMaps, and reads one after it was
 * acknowledged. Counts what was acknowledged, and keeps what failed.
 */
export class Traffic {
  readonly acknowledged: string[] = [];
  readonly failures: string[] = [];
  readonly #stop = new AbortController();
  readonly #client: Client;
  #running: Promise<unknown> = Promise.resolve();

  /** `client` lists in the end what the writers have written. */
  constructor(client: Client, prefix: string, writers: readonly Write[]) {
    this.#client = client;
    this.#running = Promise.all(
      writers.map((write, index) => this.#repeat(write, `${prefix}-${index}`)),
    );
  }

  /** Resolves when so many more writes were acknowledged. */
  async progress(writes: number): Promise<void> {
    const wanted = this.acknowledged.length + writes;
    await eventually(
      `${writes} more writes`,
      () => Promise.resolve(this.acknowledged.length >= wanted),
      120_000,
    );
  }

  /** Stops, and checks that everything that was acknowledged is there. */
  async finish(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    const { items } = await this.#client.resource(configMaps).namespace(NAMESPACE).list();
    const present = new Set(items.map(({ metadata }) => metadata.name));
    expect(this.acknowledged.filter((name) => !present.has(name))).toEqual([]);
    expect(this.acknowledged.length).toBeGreaterThan(0);
  }

  async #repeat(write: Write, prefix: string): Promise<void> {
    for (let i = 0; !this.#stop.signal.aborted; i++) {
      const name = `${prefix}-${i}`;
      try {
        const read = await write(name);
        this.acknowledged.push(name);
        await read();
      } catch (error) {
        this.failures.push(`${name}: ${String(error)}`);
        await systemClock.sleep(100);
      }
    }
  }
}

export class HighlyAvailableCluster {
  readonly #dir = temporaryDir();
  readonly #closes: (() => void)[] = [];
  members: EtcdProcess[] = [];
  roles: Role[] = [];
  #balancer: LoadBalancer | undefined;

  get balancer(): LoadBalancer {
    if (this.#balancer === undefined) throw new Error('the cluster is not started');
    return this.#balancer;
  }

  async start(): Promise<void> {
    const certDir = join(this.#dir.path, 'pki');
    this.members = await startEtcdCluster(3);
    this.#balancer = await LoadBalancer.start();
    await cox('certs', 'init', '--cert-dir', certDir, '--hosts', '127.0.0.1');
    for (const role of ['admin', 'controller-manager', 'scheduler']) {
      const to = ['--cert-dir', certDir, '--server', this.balancer.url, '--file', this.conf(role)];
      await cox('certs', 'kubeconfig', role, ...to);
    }
    const commands = commandsOf(readFileSync(DOCUMENT, 'utf8'), {
      ETCD: this.members.map(({ endpoint }) => endpoint).join(','),
      PKI: certDir,
    });
    expect(commands.map(([name]) => name)).toEqual([
      'apiserver',
      'apiserver',
      'apiserver',
      'controller-manager',
      'controller-manager',
      'scheduler',
      'scheduler',
    ]);
    const ports = await freePorts(commands.length);
    this.roles = commands.map((words, index) => {
      const port = ports[index] as number;
      const args = words.map((word, i) => {
        if (words[i - 1] === '--secure-port') return String(port);
        return words[i - 1] === '--kubeconfig' ? join(this.#dir.path, word) : word;
      });
      return new Role(args, port);
    });
    // One after the other: the first server makes what all of them need.
    for (const role of this.named('apiserver')) await role.start();
    this.balancer.balance(this.named('apiserver').map(({ port }) => port));
    await this.allServersReady();
    for (const role of this.roles) if (role.name !== 'apiserver') await role.start();
  }

  async stop(): Promise<void> {
    for (const close of this.#closes) close();
    await Promise.all(this.roles.map((role) => role.end('SIGKILL')));
    await this.#balancer?.close();
    await Promise.all(this.members.map((member) => member.stop()));
    this.#dir.remove();
  }

  /** The path of the kubeconfig of 'admin', for example. */
  conf(role: string): string {
    return join(this.#dir.path, `${role}.conf`);
  }

  named(name: string): Role[] {
    return this.roles.filter((role) => role.name === name);
  }

  async allServersReady(): Promise<void> {
    await eventually('all servers', () => Promise.resolve(this.balancer.readyServers === 3));
  }

  /** Connects as administrator, to the load balancer or to one of the servers. */
  async connect(server?: Role): Promise<Client> {
    const config = await loadKubeconfig(this.conf('admin'));
    const transport = createHttpTransport({
      ...config,
      ...(server !== undefined && { server: `https://127.0.0.1:${server.port}` }),
      clock: systemClock,
    });
    this.onStop(() => transport.close());
    return createClient(transport);
  }

  onStop(close: () => void): void {
    this.#closes.push(close);
  }
}

async function cox(...args: string[]): Promise<void> {
  const { status, stderr } = await run(process.execPath, [...coxArgs, ...args]);
  expect(status, `${args.join(' ')}: ${stderr}`).toBe(0);
}

/** Returns the holder of the Lease in kube-system. */
export async function holder(client: Client, name: string): Promise<string> {
  const { spec } = await client.resource(leases).namespace('kube-system').get(name);
  return spec.holderIdentity ?? '';
}

/** Creates a Deployment, and resolves when a controller has seen it. */
export async function controllersWork(client: Client, name: string): Promise<void> {
  const resource = client.resource(deployments).namespace(NAMESPACE);
  const labels = { app: name };
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }] },
  };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  await resource.create({ metadata: { name }, spec });
  await eventually('a controller', async () => {
    const { metadata, status } = await resource.get(name);
    return status.observedGeneration === metadata.generation;
  });
}
