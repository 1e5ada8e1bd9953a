// Services of a real node: from a pod by cluster IP, from the host by node port, through a rolling
// update under load, and the rules that remain after a restart and a reset.

import { type ChildProcess, spawn } from 'node:child_process';
import { get } from 'node:http';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram } from '#cluster/machine/install.ts';
import {
  coxArgs,
  coxUp,
  eventually,
  type Kubectl,
  kubectls,
  missingContainerd,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';
import { importBusybox } from './images.ts';

const FLAGS = [
  '--runtime',
  'containerd',
  '--pod-cidr',
  '10.77.0.0/16',
  '--service-cidr',
  '10.97.0.0/16',
];
/** Addresses for documentation: no machine of the link has them. */
const POOL = ['--load-balancer-pool', '192.0.2.240-192.0.2.241'];
const PORT = 30_177;
const nft = await run('nft', ['list', 'tables']).catch(() => undefined);
const missing =
  missingKubectl ??
  missingContainerd ??
  (nft?.status === 0 ? undefined : 'nft is not installed, or needs root');

const missingWrk =
  findProgram('wrk') === undefined ? 'wrk is not installed (apt-get install wrk)' : undefined;

/** Requests of eight connections, one after the other, until it is ended. */
class Load {
  readonly #wrk: ChildProcess;
  readonly #result: Promise<{ readonly status: number | null; readonly stdout: string }>;

  constructor(url: string) {
    // The duration only ends a load that the test has forgotten.
    this.#wrk = spawn('wrk', ['-t', '1', '-c', '8', '-d', '200s', url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let stdout = '';
    this.#wrk.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    this.#result = new Promise((resolve, reject) => {
      this.#wrk.once('error', reject);
      this.#wrk.once('close', (status) => resolve({ status, stdout }));
    });
  }

  /** Ends the load, and returns what wrk has counted. */
  end(): Promise<{ readonly status: number | null; readonly stdout: string }> {
    this.#wrk.kill('SIGINT');
    return this.#result;
  }
}

const web = (version: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 10
      containers:
        - name: web
          image: busybox
          imagePullPolicy: Never
          command: [sh, -c, 'mkdir -p /tmp/www; echo "${version} $(hostname)" > \
/tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www']
          readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 }
          lifecycle: { preStop: { sleep: { seconds: 3 } } }
`;
const service = `
apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  type: NodePort
  selector: { app: web }
  ports: [{ port: 80, targetPort: 8080, nodePort: ${PORT} }]
`;
const client = `
apiVersion: v1
kind: Pod
metadata: { name: client }
spec:
  terminationGracePeriodSeconds: 0
  containers: [{ name: client, image: busybox, imagePullPolicy: Never, command: [sleep, '3600'] }]
`;

describe.skipIf(missing !== undefined)(named('services on a node', missing), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  const host = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  const start = async (): Promise<void> => {
    cluster = await coxUp([...FLAGS, ...POOL], { dataDir: dir.path });
    kubectl = cluster.kubectl(kubectls().at(-1)?.path ?? '');
  };
  const apply = (yaml: string) => kubectl.run('apply -f -', { input: yaml });
  const fetch = (at = host, port = PORT): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = get({ host: at, port, agent: false, timeout: 5000 }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve(text.trim()));
      });
      request.on('error', reject);
      request.on('timeout', () => request.destroy(new Error('no answer')));
    });
  /** Returns the number of nftables tables of clusters: of the proxies alone, or all. */
  const tables = async (pattern = /coxswain-[0-9a-f]{10}$/gm): Promise<number> =>
    ((await run('nft', ['list', 'tables'])).stdout.match(pattern) ?? []).length;
  const ALL = /coxswain-/g;
  const loads: Load[] = [];
  let allBefore = 0;
  const holdersOf = (address: string): readonly string[] =>
    Object.entries(networkInterfaces()).flatMap(([name, list = []]) =>
      list.some((entry) => entry.address === address) ? [name] : [],
    );
  let before = 0;

  beforeAll(async () => {
    dir = temporaryDir();
    before = await tables();
    allBefore = await tables(ALL);
    await start();
    await importBusybox(dir.path);
    await apply(`${web('one')}---${service}---${client}`);
    await kubectl.run('rollout status deployment/web --timeout=90s');
    await kubectl.run('wait --for=condition=Ready pod/client --timeout=60s');
  });
  afterAll(async () => {
    for (const load of loads) void load.end();
    await kubectl?.try('delete deployment,pods --all --grace-period=0 --force --timeout=60s');
    await cluster?.stop();
    await run(process.execPath, [...coxArgs, 'reset', '--yes', '--data-dir', dir.path]);
    dir.remove();
  });

  test('from a pod by the cluster IP, from the host by the node port', async () => {
    const clusterIP = await kubectl.run('get service web -o jsonpath={.spec.clusterIP}');
    const request = "printf 'GET / HTTP/1.0\\r\\n\\r\\n'";
    const fromPod = await eventually('an answer in the pod', async () => {
      const { status, stdout } = await kubectl.try(
        `exec client -- sh -c "${request} | nc -w 3 ${clusterIP} 80"`,
      );
      return status === 0 && stdout.includes('web-') ? stdout : undefined;
    });
    expect(fromPod).toMatch(/\none web-/);
    expect((await kubectl.try('exec client -- nc -w 3 10.97.0.1 443')).status).toBe(0);
    expect((await kubectl.try(`exec client -- nc -w 3 ${clusterIP} 81`)).stderr).toContain(
      'Connection refused',
    );
    const seen = new Set<string>();
    await eventually(
      'both pods through the node port',
      async () => seen.add(await fetch()).size === 2,
    );
  });

  test('a rolling update loses no request', async () => {
    const stop = new AbortController();
    const results: string[] = [];
    const load = async (): Promise<void> => {
      while (!stop.signal.aborted)
        results.push(await fetch().catch((error: unknown) => String(error)));
    };
    const clients = [load(), load()];
    await apply(web('two'));
    await kubectl.run('rollout status deployment/web --timeout=120s');
    await eventually('only new pods to answer', async () =>
      results.slice(-10).every((text) => text.startsWith('two')),
    );
    stop.abort();
    await Promise.all(clients);
    expect(results.filter((text) => !/^(one|two) web-/.test(text))).toEqual([]);
    expect(results.length).toBeGreaterThan(50);
  });

  test.skipIf(missingWrk !== undefined)(
    named('a rolling update under wrk loses no request', missingWrk),
    async () => {
      const clusterIP = await kubectl.run('get service web -o jsonpath={.spec.clusterIP}');
      loads.push(new Load(`http://${host}:${PORT}/`), new Load(`http://${clusterIP}/`));
      await apply(web('three'));
      await kubectl.run('rollout status deployment/web --timeout=120s');
      await apply(web('two'));
      await kubectl.run('rollout status deployment/web --timeout=120s');
      await eventually(
        'the end of the old pods',
        async () =>
          (await kubectl.run('get pods -l app=web -o name')).match(/^pod/gm)?.length === 2,
      );
      for (const { status, stdout } of await Promise.all(loads.map((load) => load.end()))) {
        expect(status, stdout).toBe(0);
        // These lines appear only if their count is not 0.
        expect(stdout).not.toMatch(/Socket errors|Non-2xx/);
        expect(Number(/(\d+) requests in/.exec(stdout)?.[1])).toBeGreaterThan(100);
      }
    },
  );

  test('a load balancer has an address of the pool, which the machine announces', async () => {
    await kubectl.run(
      'expose deployment web --name=balanced --type=LoadBalancer --port=80 --target-port=8080',
    );
    const ip = await eventually('an address', async () => {
      const text = await kubectl.run(
        'get service balanced -o jsonpath={.status.loadBalancer.ingress[0].ip}',
      );
      return text !== '' && text;
    });
    expect(ip).toBe('192.0.2.240');
    await eventually('an answer at it', async () =>
      (await fetch(ip, 80).catch(() => '')).startsWith('two web-'),
    );
    await eventually('it on an interface of its own', () =>
      Promise.resolve(holdersOf(ip).some((name) => name.startsWith('cxs'))),
    );
    await expect(fetch(ip, 81)).rejects.toThrow('ECONNREFUSED');
    await kubectl.run('delete service balanced');
    await eventually('it withdrawn', () => Promise.resolve(holdersOf(ip).length === 0));
  });

  test('rules work while the cluster is down, and the next start adopts them', async () => {
    await cluster.stop();
    expect(await fetch()).toMatch(/^two web-/);
    expect(await tables()).toBe(before + 2);
    await start();
    expect(await fetch()).toMatch(/^two web-/);
    expect(await tables()).toBe(before + 2);
  });

  test('a reset removes the rules', async () => {
    await kubectl.run('delete deployment,pods --all --grace-period=0 --force --timeout=60s');
    await cluster.stop();
    const { status } = await run(process.execPath, [
      ...coxArgs,
      'reset',
      '--yes',
      '--data-dir',
      dir.path,
    ]);
    expect([status, await tables(ALL)]).toEqual([0, allBefore]);
  });
});
