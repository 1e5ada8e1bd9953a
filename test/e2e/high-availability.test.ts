// The example of docs/high-availability.md: its commands are run, and each of the processes is
// stopped and killed while clients write and read through the load balancer.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { configMaps } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import { systemClock } from '#machinery/clock.ts';
import { freePorts } from '#machinery/net/testing/free-ports.ts';
import {
  ETCD_HINT,
  type EtcdProcess,
  hasEtcd,
  startEtcdCluster,
} from '#storage/etcd/testing/etcd-process.ts';
import { coxArgs, eventually, named, run, temporaryDir } from './harness.ts';
import { LoadBalancer } from './load-balancer.ts';

const missing = hasEtcd() ? undefined : ETCD_HINT;
const DOCUMENT = new URL('../../docs/high-availability.md', import.meta.url);
const NAMESPACE = 'default';

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

class Role {
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

  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
    this.#child?.kill(signal);
    return this.#ended;
  }
}

/** Creates a ConfigMap. Resolves, when that was acknowledged, to the function that reads it. */
type Write = (name: string) => Promise<() => Promise<unknown>>;

/** Returns writers that share the client. */
const writers = (client: Client, count: number): readonly Write[] => {
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
class Traffic {
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

describe.skipIf(missing !== undefined)(named('a cluster of several of each', missing), () => {
  const dir = temporaryDir();
  const certDir = join(dir.path, 'pki');
  const closes: (() => void)[] = [];
  let members: EtcdProcess[] = [];
  let balancer: LoadBalancer;
  let roles: Role[] = [];

  const cox = async (...args: string[]): Promise<void> => {
    const { status, stderr } = await run(process.execPath, [...coxArgs, ...args]);
    expect(status, `${args.join(' ')}: ${stderr}`).toBe(0);
  };
  const conf = (role: string): string => join(dir.path, `${role}.conf`);
  const named = (name: string): Role[] => roles.filter((role) => role.name === name);

  async function connect(): Promise<Client> {
    const transport = createHttpTransport({
      ...(await loadKubeconfig(conf('admin'))),
      clock: systemClock,
    });
    closes.push(() => transport.close());
    return createClient(transport);
  }

  beforeAll(async () => {
    members = await startEtcdCluster(3);
    balancer = await LoadBalancer.start();
    await cox('certs', 'init', '--cert-dir', certDir, '--hosts', '127.0.0.1');
    for (const role of ['admin', 'controller-manager', 'scheduler']) {
      const to = ['--cert-dir', certDir, '--server', balancer.url, '--file', conf(role)];
      await cox('certs', 'kubeconfig', role, ...to);
    }
    const commands = commandsOf(readFileSync(DOCUMENT, 'utf8'), {
      ETCD: members.map(({ endpoint }) => endpoint).join(','),
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
    roles = commands.map((words, index) => {
      const port = ports[index] as number;
      const args = words.map((word, i) => {
        if (words[i - 1] === '--secure-port') return String(port);
        return words[i - 1] === '--kubeconfig' ? join(dir.path, word) : word;
      });
      return new Role(args, port);
    });
    // One after the other: the first server makes what all of them need.
    for (const role of named('apiserver')) await role.start();
    balancer.balance(named('apiserver').map(({ port }) => port));
    await eventually('ready servers', () => Promise.resolve(balancer.readyServers === 3));
    for (const role of roles) if (role.name !== 'apiserver') await role.start();
  });

  afterAll(async () => {
    for (const close of closes) close();
    await Promise.all(roles.map((role) => role.end('SIGKILL')));
    await balancer.close();
    await Promise.all(members.map((member) => member.stop()));
    dir.remove();
  });

  const holder = async (client: Client, name: string): Promise<string> =>
    (await client.resource(leases).namespace('kube-system').get(name)).spec.holderIdentity ?? '';

  /** Changes a Deployment, and resolves when a controller has seen that. */
  async function controllersWork(client: Client, name: string): Promise<void> {
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

  /** Returns a writer over HTTP/1.1 that keeps its connection, as clients of many languages do. */
  async function keepAliveWriter(): Promise<Write> {
    const { ca, clientCertificate: cert, clientKey: key } = await loadKubeconfig(conf('admin'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca, cert, key });
    closes.push(() => agent.destroy());
    const send = (method: string, path: string, body: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json' };
        const sent = request(`${balancer.url}${path}`, { method, agent, headers }, (response) => {
          response.resume();
          response.once('error', reject).once('end', () => resolve(response.statusCode));
        });
        sent.once('error', reject);
        sent.end(body);
      });
    return async (name) => {
      const collection = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
      expect(await send('POST', collection, JSON.stringify(body))).toBe(201);
      return async () => expect(await send('GET', `${collection}/${name}`, '')).toBe(200);
    };
  }

  test('no request fails while each API server is restarted in turn', async () => {
    const client = await connect();
    const keepAlive = await Promise.all([keepAliveWriter(), keepAliveWriter()]);
    const traffic = new Traffic(client, 'rolling', [...writers(client, 4), ...keepAlive]);
    await traffic.progress(20);
    for (const server of named('apiserver')) {
      expect(await server.end('SIGTERM')).toBe(0);
      await traffic.progress(20);
      await server.start();
      await eventually('it is balanced to', () => Promise.resolve(balancer.isReady(server.port)));
      await traffic.progress(20);
    }
    await traffic.finish();
    expect(traffic.failures).toEqual([]);
  });

  test('a killed API server loses nothing that was acknowledged', async () => {
    const client = await connect();
    const traffic = new Traffic(client, 'killed', writers(client, 4));
    await traffic.progress(20);
    const [server] = named('apiserver');
    await server?.end('SIGKILL');
    await traffic.progress(50);
    await controllersWork(client, 'after-server');
    await server?.start();
    await traffic.finish();
  });

  test('a killed member of etcd loses nothing that was acknowledged', async () => {
    const client = await connect();
    const traffic = new Traffic(client, 'member', writers(client, 4));
    await traffic.progress(20);
    // One of the three is the leader, and one is that of each server.
    for (const member of members) {
      member.signal('SIGKILL');
      await traffic.progress(50);
      await member.restart();
      await eventually('all servers', () => Promise.resolve(balancer.readyServers === 3));
    }
    await controllersWork(client, 'after-member');
    await traffic.finish();
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'another controller manager works after %s',
    async (signal) => {
      const client = await connect();
      const [leading, waiting] = named('controller-manager') as [Role, Role];
      await Promise.all([leading.end('SIGTERM'), waiting.end('SIGTERM')]);
      await leading.start();
      const before = await eventually('a leader', () => holder(client, 'kube-controller-manager'));
      await waiting.start();
      await leading.end(signal);
      await controllersWork(client, `after-${signal.toLowerCase()}`);
      expect(await holder(client, 'kube-controller-manager')).not.toBe(before);
    },
    120_000,
  );
});
