// The roles in separate processes: two API servers on one etcd, two controller managers, a
// scheduler and a node.

import { type ChildProcess, spawn } from 'node:child_process';
import { get } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { services } from '#api/groups/core/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { ipAddresses } from '#api/groups/networking/v1/index.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import { systemClock } from '#machinery/clock.ts';
import {
  ETCD_HINT,
  type EtcdProcess,
  hasEtcd,
  startEtcd,
} from '#storage/etcd/testing/etcd-process.ts';
import {
  coxArgs,
  coxUp,
  eventually,
  Kubectl,
  kubectls,
  missingKubectl,
  named,
  run,
  temporaryDir,
} from './harness.ts';

const missing = missingKubectl ?? (hasEtcd() ? undefined : ETCD_HINT);

interface Role {
  /** The role's ready line. */
  readonly description: string;
  readonly process: ChildProcess;
  readonly stderr: () => string;
  /** Resolves with the exit status. */
  readonly ended: Promise<number>;
}

const cox = async (...args: string[]): Promise<string> => {
  const { status, stdout, stderr } = await run(process.execPath, [...coxArgs, ...args]);
  expect(stderr, args.join(' ')).toBe('');
  expect(status).toBe(0);
  return stdout;
};

/** Resolves when the role is ready. */
async function startRole(name: string, ...flags: string[]): Promise<Role> {
  const child = spawn(process.execPath, [...coxArgs, name, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
  const description = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString('utf8');
      const said = /^ready: (.*)\n/m.exec(stdout);
      if (said !== null) resolve(said[1]!);
    });
    void ended.then((code) =>
      reject(new Error(`cox ${name} ended with ${code}:\n${stdout}\n${stderr}`)),
    );
  });
  return { description, process: child, stderr: () => stderr, ended };
}

describe.skipIf(missing !== undefined)(named('roles that run apart', missing), () => {
  const dir = temporaryDir();
  const certDir = join(dir.path, 'pki');
  const roles: Role[] = [];
  let etcd: EtcdProcess;
  let servers: string[];
  let clients: Client[];
  let managers: Role[];
  let scheduler: Role;
  let kubectl: Kubectl;

  const start = async (name: string, ...flags: string[]): Promise<Role> => {
    const role = await startRole(name, ...flags);
    roles.push(role);
    return role;
  };

  async function kubeconfig(role: string, index: number, ...flags: string[]): Promise<string> {
    const path = join(dir.path, `${role}-${index}.conf`);
    await cox(
      'certs',
      'kubeconfig',
      role,
      '--cert-dir',
      certDir,
      '--server',
      servers[index]!,
      '-f',
      path,
      ...flags,
    );
    return path;
  }

  const startManager = async (index: number): Promise<Role> => {
    // Shorter times than the defaults, so that the tests are quick.
    const election = [
      '--leader-elect-lease-duration=3s',
      '--leader-elect-renew-deadline=2s',
      '--leader-elect-retry-period=500ms',
    ];
    const ports = ['--bind-address', '127.0.0.1', '--secure-port', '0'];
    const config = await kubeconfig('controller-manager', index);
    const ranges = ['--cluster-cidr', '10.244.0.0/16'];
    return start(
      'controller-manager',
      '--kubeconfig',
      config,
      '--cert-dir',
      certDir,
      ...ports,
      ...ranges,
      ...election,
    );
  };

  beforeAll(async () => {
    etcd = await startEtcd();
    await cox('certs', 'init', '--cert-dir', certDir, '--hosts', 'api.example.org,127.0.0.1');
    const flags = [
      '--etcd-servers',
      etcd.endpoint,
      '--cert-dir',
      certDir,
      '--bind-address',
      '127.0.0.1',
      '--secure-port',
      '0',
    ];
    const apiServers = await Promise.all([1, 2].map(() => start('apiserver', ...flags)));
    servers = apiServers.map(({ description }) => /https:\S+/.exec(description)?.[0] as string);
    clients = await Promise.all(
      servers.map(async (_, index) =>
        createClient(
          createHttpTransport({
            ...(await loadKubeconfig(await kubeconfig('admin', index))),
            clock: systemClock,
          }),
        ),
      ),
    );
    managers = [await startManager(0), await startManager(1)];
    const ports = ['--bind-address', '127.0.0.1', '--secure-port', '0'];
    scheduler = await start(
      'scheduler',
      '--kubeconfig',
      await kubeconfig('scheduler', 1),
      ...ports,
    );
    await cox('certs', 'node', 'worker-1', '--cert-dir', certDir, '--hosts', '127.0.0.1');
    const node = [
      '--hostname-override',
      'worker-1',
      '--node-ip',
      '127.0.0.1',
      '--address',
      '127.0.0.1',
      '--port',
      '0',
    ];
    const runtime = ['--runtime', 'simulated', '--data-dir', join(dir.path, 'node')];
    const config = await kubeconfig('kubelet', 0, '--node', 'worker-1');
    await start('kubelet', '--kubeconfig', config, '--cert-dir', certDir, ...node, ...runtime);
    kubectl = new Kubectl(
      kubectls().at(-1)?.path ?? 'kubectl',
      await kubeconfig('admin', 1),
      dir.path,
    );
  });

  afterAll(async () => {
    for (const { process: child } of roles) child.kill('SIGTERM');
    await Promise.all(roles.map(({ ended }) => ended));
    await etcd.stop();
    dir.remove();
  });

  const leader = async (): Promise<string> => {
    const lease = await clients[0]
      ?.resource(leases)
      .namespace('kube-system')
      .get('kube-controller-manager');
    return lease?.spec.holderIdentity ?? '';
  };

  test('200 services created through both servers at once have 200 addresses and 200 ports', async () => {
    const make = (client: Client, name: string) =>
      client
        .resource(services)
        .namespace('default')
        .create({
          metadata: { name, labels: { of: 'both' } },
          spec: { type: 'NodePort', ports: [{ port: 80 }] },
        });
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
    const made = await Promise.all(
      names.flatMap((name) => clients.map((client, index) => make(client, `${name}-${index}`))),
    );
    expect(new Set(made.map(({ spec }) => spec.clusterIP)).size).toBe(200);
    expect(new Set(made.map(({ spec }) => spec.ports?.[0]?.nodePort)).size).toBe(200);
    const held = await clients[1]?.resource(ipAddresses).list();
    // The 200 and the address of the Service kubernetes.
    expect(held?.items).toHaveLength(201);
    await Promise.all(
      clients.map((client) =>
        client
          .resource(services)
          .namespace('default')
          .deleteCollection({ labelSelector: 'of=both' }),
      ),
    );
    const left = await clients[0]?.resource(ipAddresses).list();
    expect(left?.items.map(({ metadata }) => metadata.name)).toEqual(['10.96.0.1']);
  });

  test('pods get the addresses of both servers', async () => {
    const ports = servers.map((url) => new URL(url).port).toSorted((a, b) => Number(a) - Number(b));
    expect(
      await kubectl.run(
        'get endpointslices -l kubernetes.io/service-name=kubernetes -o jsonpath={.items[*].ports[*].port}',
      ),
    ).toBe(ports.join(' '));
  });

  test('a Deployment runs, through all of them', async () => {
    await kubectl.run('create deployment web --image=nginx --replicas=2');
    await kubectl.run('rollout status deployment web --timeout=60s', { timeoutMs: 70_000 });
    expect(await kubectl.run('get pods -o jsonpath={.items[*].spec.nodeName}')).toBe(
      'worker-1 worker-1',
    );
    await kubectl.run('logs deploy/web');
    const fields = await kubectl.run(
      'get rs -o jsonpath={.items[0].metadata.managedFields[*].manager}',
    );
    expect(fields).toContain('kube-controller-manager');
  });

  test("the consoles of both servers show the scheduler's decisions", async () => {
    await kubectl.run('create deployment decided --image=nginx');
    for (const client of clients) {
      const found = await eventually('the decision', async () => {
        const { decisions } = await client.transport.request<{
          readonly decisions: readonly { readonly pod: string; readonly node: string }[];
        }>({ method: 'GET', path: '/console/api/scheduler' });
        return decisions.find(({ pod }) => pod.startsWith('decided-'));
      });
      expect(found.node).toBe('worker-1');
    }
    // One node that fits needs no scores. Further decisions follow.
    await kubectl.run('scale deployment decided --replicas=2');
    await eventually('the next decision', async () => {
      const { decisions } = await clients[0]!.transport.request<{
        readonly decisions: readonly { readonly pod: string }[];
      }>({ method: 'GET', path: '/console/api/scheduler' });
      return decisions.filter(({ pod }) => pod.startsWith('decided-')).length === 2;
    });
    const { stderr } = await kubectl.try(
      'get secret coxswain-scheduler-decisions -n kube-system --as=jane',
    );
    expect(stderr).toContain('forbidden');
    await kubectl.run('delete deployment decided');
  });

  test("the scheduler's metrics are readable only for authorized users", async () => {
    const port = /port (\d+)/.exec(scheduler.description)?.[1];
    const ask = async (
      path: string,
      token?: string,
    ): Promise<{ code: number | undefined; text: string }> => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      return new Promise((resolve, reject) => {
        // The certificate is self-signed.
        get(
          { host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false },
          (response) => {
            let text = '';
            response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
            response.on('end', () => resolve({ code: response.statusCode, text }));
          },
        ).on('error', reject);
      });
    };
    const token = (await kubectl.run('create token default')).trim();
    expect(await ask('/healthz')).toEqual({ code: 200, text: 'ok' });
    expect((await ask('/metrics')).code).toBe(403);
    expect((await ask('/metrics', token)).code).toBe(403);
    await kubectl.run(
      'create clusterrolebinding metrics --clusterrole=system:monitoring --serviceaccount=default:default',
    );
    const { text } = await eventually('to be allowed', async () => {
      const answer = await ask('/metrics', token);
      return answer.code === 200 && answer;
    });
    expect(text).toContain('leader_election_master_status{name="kube-scheduler"} 1');
    expect(text).toMatch(/^scheduler_schedule_attempts_total\{.*result="scheduled".*\} [1-9]/m);
  });

  test('one controller manager leads; when it is killed, the other one takes over', async () => {
    const before = await leader();
    expect(before).toMatch(/_[0-9a-f-]{36}$/);
    // The first manager leads, since it ran alone for a while.
    const [first] = managers;
    first?.process.kill('SIGKILL');
    await first?.ended;
    await eventually('another leader', async () => (await leader()) !== before, 30_000);
    await kubectl.run('scale deployment web --replicas=3');
    await kubectl.run('rollout status deployment web --timeout=60s', { timeoutMs: 70_000 });
    const transitions = await kubectl.run(
      '-n kube-system get lease kube-controller-manager -o jsonpath={.spec.leaseTransitions}',
    );
    expect(transitions).toBe('1');
  });

  test('each stops at SIGTERM, and releases its lease', async () => {
    const [, second] = managers;
    second?.process.kill('SIGTERM');
    expect(await second?.ended).toBe(0);
    expect(await leader()).toBe('');
  });

  test('a process that waits for an unreachable server can be stopped', async () => {
    const config = join(dir.path, 'nowhere.conf');
    await cox(
      'certs',
      'kubeconfig',
      'kubelet',
      '--node',
      'worker-1',
      '--cert-dir',
      certDir,
      '--server',
      'https://127.0.0.1:1',
      '-f',
      config,
    );
    const flags = [
      '--hostname-override',
      'worker-1',
      '--port',
      '0',
      '--runtime',
      'simulated',
      '--pod-cidr',
      '10.244.2.0/24',
    ];
    const args = [
      'kubelet',
      '--kubeconfig',
      config,
      '--cert-dir',
      certDir,
      '--data-dir',
      join(dir.path, 'nowhere'),
      ...flags,
    ];
    const child = spawn(process.execPath, [...coxArgs, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await new Promise<void>((resolve) => {
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => {
        stderr += chunk.toString('utf8');
        if (stderr.includes('node not registered')) resolve();
      });
      void ended.then(() => resolve());
    });
    expect(child.exitCode).toBeNull();
    child.kill('SIGTERM');
    expect(await ended).toBe(1);
  });

  test('invalid flags are refused with one line', async () => {
    const refused = async (...args: string[]): Promise<string> => {
      const { status, stderr } = await run(process.execPath, [...coxArgs, ...args]);
      expect(status).toBe(1);
      expect(stderr).not.toContain('    at ');
      return stderr;
    };
    const config = join(dir.path, 'admin-0.conf');
    expect(await refused('apiserver', '--etcd-servers', etcd.endpoint)).toMatch(
      /--service-account-signing-key-file is needed, or --cert-dir/,
    );
    expect(await refused('scheduler', '--kubeconfig', join(dir.path, 'none'))).toMatch(
      /cox: --kubeconfig: cannot read/,
    );
    expect(
      await refused('controller-manager', '--kubeconfig', config, '--controllers', 'nonsense'),
    ).toMatch(/--controllers: "nonsense" is not in the list of known controllers/);
    expect(
      await refused(
        'certs',
        'kubeconfig',
        'missing',
        '--cert-dir',
        certDir,
        '--server',
        'https://a',
      ),
    ).toMatch(/no role "missing"/);
    expect(await refused('certs', 'node', 'n', '--cert-dir', join(dir.path, 'nowhere'))).toMatch(
      /certs init/,
    );
  });
});

test.skipIf(missingKubectl !== undefined)(
  named('a node joins a cluster that began as one process', missingKubectl),
  async () => {
    const dir = temporaryDir();
    const cluster = await coxUp(['--runtime', 'simulated', '--store', 'memory'], {
      dataDir: dir.path,
    });
    const certs = ['--cert-dir', join(dir.path, 'pki')];
    const config = join(dir.path, 'worker.conf');
    const server = /https:\S+/.exec(cluster.output)?.[0] as string;
    let node: Role | undefined;
    try {
      await cox(
        'certs',
        'kubeconfig',
        'kubelet',
        '--node',
        'worker',
        ...certs,
        '--server',
        server,
        '-f',
        config,
      );
      await cox('certs', 'node', 'worker', ...certs, '--hosts', '127.0.0.1');
      const at = [
        '--hostname-override',
        'worker',
        '--node-ip',
        '127.0.0.1',
        '--address',
        '127.0.0.1',
        '--port',
        '0',
      ];
      const runtime = ['--runtime', 'simulated', '--data-dir', join(dir.path, 'worker')];
      node = await startRole('kubelet', '--kubeconfig', config, ...certs, ...at, ...runtime);
      const kubectl = cluster.kubectl();
      await kubectl.run('wait --for=condition=Ready node/worker --timeout=30s');
      const overrides = JSON.stringify({ spec: { nodeName: 'worker' } });
      await kubectl.run(`run there --image=nginx --overrides='${overrides}'`);
      await kubectl.run('wait --for=condition=Ready pod/there --timeout=30s');
      await kubectl.run('logs there');
      // The node has a range of the cluster's addresses, and the pod an address of that range.
      expect(await kubectl.run('get node worker -o jsonpath={.spec.podCIDRs}')).toBe(
        '["10.244.1.0/24"]',
      );
      expect(await kubectl.run('get pod there -o jsonpath={.status.podIP}')).toMatch(
        /^10\.244\.1\.\d+$/,
      );
    } finally {
      node?.process.kill('SIGTERM');
      await node?.ended;
      await cluster.stop();
      dir.remove();
    }
  },
);
