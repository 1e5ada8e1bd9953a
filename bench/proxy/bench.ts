// Measures the service proxy with 10,000 services of four endpoints, in a network namespace: the
// time until all rules are installed, and the time from the write of one EndpointSlice until the
// kernel has the change. KUBE_PROXY names upstream's kube-proxy, to be measured beside it.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { nodes, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { Client } from '#client/client.ts';
import { startCluster } from '#cluster/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { NftSession } from '#machinery/net/nft/index.ts';
import { systemRandom } from '#machinery/random.ts';
import { ProxyHealth } from '#proxy/health/proxy-health.ts';
import { ProxyMetrics } from '#proxy/metrics.ts';
import type { Backend } from '#proxy/model.ts';
import { NftablesBackend } from '#proxy/nftables/nftables-backend.ts';
import { Proxier } from '#proxy/proxier.ts';
import { endedWithRun, temporaryDirectory } from '../clean-up.ts';
import { heading, note, quantile, show } from '../report.ts';

const SERVICES = Number(process.env['SERVICES'] ?? 10_000);
const CHANGES = Number(process.env['CHANGES'] ?? 200);
const NAMESPACE = `cox-bench-proxy-${process.pid}`;
/** Unlike `ip netns exec`, nsenter mounts nothing; the mounts would take longer than nft. */
const INSIDE = ['nsenter', `--net=/run/netns/${NAMESPACE}`];
const WRITERS = 32;

export async function proxy(): Promise<void> {
  if (process.getuid?.() !== 0) {
    note('proxy: skipped, network namespaces need root');
    return;
  }
  heading(`proxy: ${SERVICES} services of 4 endpoints`);
  const cluster = await startCluster({
    nodes: 0,
    port: 0,
    serviceCidr: '10.96.0.0/14',
    controllers: ['ttl-controller'],
    logger: createLogger({ level: 'error' }),
  });
  const { client } = cluster;
  try {
    await client.resource(nodes).create({ metadata: { name: 'here' } });
    await each(SERVICES, (index) => createService(client, index));
    const ours = await measureOurs(client);
    const theirs =
      process.env['KUBE_PROXY'] === undefined
        ? undefined
        : await measureKubeProxy(cluster, process.env['KUBE_PROXY']);
    const beside = (value: number | undefined) =>
      value === undefined ? {} : { comparedWith: { name: 'kube-proxy', value } };
    show({
      what: 'all rules there, of nothing',
      unit: 's',
      values: [ours.coldSeconds],
      goal: { atMost: 5 },
      ...beside(theirs?.coldSeconds),
    });
    show({ what: 'all rules there, adopted', unit: 's', values: [ours.adoptedSeconds] });
    show({
      what: 'one change of endpoints, mean',
      unit: 'ms',
      values: [mean(ours.changesMs)],
      ...beside(theirs?.changeMs),
    });
    show({
      what: 'one change of endpoints, p99',
      unit: 'ms',
      values: [quantile(ours.changesMs, 0.99)],
      goal: { atMost: 20 },
    });
    show({
      what: 'from the write of the slice to the rules, p99',
      unit: 'ms',
      values: [quantile(ours.writesMs, 0.99)],
    });
  } finally {
    await cluster.stop();
  }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

function clusterIp(index: number): string {
  return `10.${96 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
}

const endpointsOf = (index: number, turn: number): string[] =>
  Array.from(
    { length: 4 },
    (_, endpoint) =>
      `10.${endpoint + (endpoint === 3 && turn > 0 ? 1 + (turn % 50) : 0)}.${index >> 8}.${index & 255}`,
  );

async function createService(client: Client, index: number): Promise<void> {
  // The first addresses are the API server's own.
  const name = `s${index}`;
  await client
    .resource(services)
    .namespace('default')
    .create({
      metadata: { name, namespace: 'default' },
      spec: { clusterIP: clusterIp(index + 256), ports: [{ port: 80, targetPort: 8080 }] },
    });
  await client
    .resource(endpointSlices)
    .namespace('default')
    .create({
      metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: '', port: 8080, protocol: 'TCP' }],
      endpoints: endpointsOf(index, 0).map((address) => ({
        addresses: [address],
        conditions: { ready: true },
      })),
    });
}

async function changeSlice(client: Client, index: number, turn: number): Promise<void> {
  const slices = client.resource(endpointSlices).namespace('default');
  const present = await slices.get(`s${index}`);
  const endpoints = endpointsOf(index, turn).map((address) => ({
    addresses: [address],
    conditions: { ready: true },
  }));
  await slices.update({ ...present, endpoints });
}

async function each(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: WRITERS }, worker));
}

interface Ours {
  readonly coldSeconds: number;
  readonly adoptedSeconds: number;
  readonly changesMs: readonly number[];
  readonly writesMs: readonly number[];
}

async function measureOurs(client: Client): Promise<Ours> {
  return inNamespace(async () => {
    const cold = await runProxier(client, () => Promise.resolve());
    const changesMs: number[] = [];
    const writesMs: number[] = [];
    const adopted = await runProxier(client, async (nextSync) => {
      for (let turn = 1; turn <= CHANGES; turn++) {
        const synced = nextSync();
        const start = systemClock.monotonic();
        await changeSlice(client, (turn * 37) % SERVICES, turn);
        changesMs.push(await synced);
        writesMs.push(systemClock.monotonic() - start);
      }
    });
    return { coldSeconds: cold, adoptedSeconds: adopted, changesMs, writesMs };
  });
}

/**
 * Returns the seconds until the first update was applied, after `work`, which can wait for the
 * duration of the next update in ms.
 */
async function runProxier(
  client: Client,
  work: (nextSync: () => Promise<number>) => Promise<void>,
): Promise<number> {
  let synced: ((ms: number) => void) | undefined;
  const nextSync = (): Promise<number> => new Promise((resolve) => (synced = resolve));
  const common = {
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ level: 'error' }),
  };
  const timed = (backend: Backend): Backend => ({
    name: backend.name,
    close: () => backend.close(),
    async sync(update) {
      const start = systemClock.monotonic();
      await backend.sync(update);
      synced?.(systemClock.monotonic() - start);
    },
  });
  const nft = new NftSession({ clock: systemClock, prefix: INSIDE });
  const proxier = new Proxier({
    ...common,
    client,
    nodeName: 'here',
    makeBackend: (network) =>
      timed(
        new NftablesBackend({
          ...common,
          nft,
          families: ['IPv4', 'IPv6'],
          settings: () => ({
            table: 'coxswain',
            nodePortIPs: undefined,
            clusterCidrs: ['10.0.0.0/10'],
            serviceCidrs: network.serviceCidrs(),
            masqueradeAll: false,
            masqueradeBit: 14,
            blindBridge: undefined,
          }),
          flows: undefined,
        }),
      ),
    machineAddresses: () => [],
    reservedPorts: [],
    nodePortAddresses: 'all',
    metrics: new ProxyMetrics({ clock: systemClock, families: ['IPv4', 'IPv6'] }),
    health: new ProxyHealth({ clock: systemClock, families: ['IPv4', 'IPv6'] }),
  });
  const abort = new AbortController();
  const first = nextSync();
  const start = systemClock.monotonic();
  const running = proxier.run(abort.signal);
  await first;
  const seconds = (systemClock.monotonic() - start) / 1000;
  await work(nextSync);
  abort.abort();
  await running;
  await nft.close();
  return seconds;
}

async function inNamespace<T>(work: () => Promise<T>): Promise<T> {
  execFileSync('ip', ['netns', 'add', NAMESPACE]);
  try {
    execFileSync('ip', ['netns', 'exec', NAMESPACE, 'ip', 'link', 'set', 'lo', 'up']);
    return await work();
  } finally {
    execFileSync('ip', ['netns', 'delete', NAMESPACE]);
  }
}

const CONFIGURATION = `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: here
clusterCIDR: 10.0.0.0/10
nodePortAddresses: [0.0.0.0/0, '::/0']
conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s }
nftables: { minSyncPeriod: 1ms }
healthzBindAddress: ''
metricsBindAddress: 127.0.0.1:10249
`;
const RELAY = `require('node:net').createServer((a) => {
  const b = require('node:net').connect(process.argv[1]);
  a.on('error', () => b.destroy()).pipe(b);
  b.on('error', () => a.destroy()).pipe(a);
}).listen(6443, '127.0.0.1');`;
/** kube-proxy's first update may take minutes. */
const KUBE_PROXY_TIMEOUT_MS = 900_000;

interface Theirs {
  readonly coldSeconds: number;
  /** The mean. */
  readonly changeMs: number;
}

/**
 * Measures kube-proxy by its own metrics: `sync_full_…` for the first update, the mean of
 * `sync_partial_…` for changes.
 */
async function measureKubeProxy(
  cluster: {
    readonly url: string | undefined;
    readonly kubeconfig: string | undefined;
    readonly client: Client;
  },
  program: string,
): Promise<Theirs> {
  const dir = temporaryDirectory('bench-proxy-');
  const path = join(dir, 'api.sock');
  const relay = createServer((near) => {
    const far = connect(Number(new URL(cluster.url ?? '').port), '127.0.0.1');
    near.on('error', () => far.destroy()).pipe(far);
    far.on('error', () => near.destroy()).pipe(near);
  });
  await new Promise<void>((resolve) => relay.listen(path, resolve));
  writeFileSync(
    join(dir, 'config.yaml'),
    `${CONFIGURATION}clientConnection: { kubeconfig: ${join(dir, 'kubeconfig')} }\n`,
  );
  writeFileSync(
    join(dir, 'kubeconfig'),
    (cluster.kubeconfig ?? '').replace(/server: .*/, 'server: https://127.0.0.1:6443'),
  );
  const children: ChildProcess[] = [];
  const run = (...args: string[]): void => {
    const [command = '', ...rest] = [...INSIDE, ...args];
    children.push(endedWithRun(spawn(command, rest, { stdio: 'ignore' })));
  };
  const metric = (name: string): number => {
    const [command = '', ...rest] = [...INSIDE, 'curl', '-s', 'http://127.0.0.1:10249/metrics'];
    try {
      const text = execFileSync(command, rest, {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      return Number(
        new RegExp(`^kubeproxy_${name}\\{ip_family="IPv4"\\} (\\S+)`, 'm').exec(text)?.[1] ?? 0,
      );
    } catch {
      // kube-proxy does not serve yet.
      return 0;
    }
  };
  const until = async (condition: () => boolean): Promise<void> => {
    const start = systemClock.monotonic();
    while (!condition()) {
      if (systemClock.monotonic() - start > KUBE_PROXY_TIMEOUT_MS)
        throw new Error('kube-proxy did not get so far');
      await systemClock.sleep(500);
    }
  };
  try {
    return await inNamespace(async () => {
      run(process.execPath, '-e', RELAY, path);
      const start = systemClock.monotonic();
      run(program, '--config', join(dir, 'config.yaml'));
      await until(() => metric('sync_full_proxy_rules_duration_seconds_count') > 0);
      const coldSeconds = (systemClock.monotonic() - start) / 1000;
      const rounds = Math.min(CHANGES, 30);
      const before = {
        count: metric('sync_partial_proxy_rules_duration_seconds_count'),
        sum: metric('sync_partial_proxy_rules_duration_seconds_sum'),
      };
      for (let turn = 1; turn <= rounds; turn++) {
        const count = metric('sync_partial_proxy_rules_duration_seconds_count');
        await changeSlice(cluster.client, (turn * 37) % SERVICES, turn + 25);
        await until(() => metric('sync_partial_proxy_rules_duration_seconds_count') > count);
      }
      const count = metric('sync_partial_proxy_rules_duration_seconds_count') - before.count;
      const sum = metric('sync_partial_proxy_rules_duration_seconds_sum') - before.sum;
      return { coldSeconds, changeMs: (1000 * sum) / count };
    });
  } finally {
    for (const child of children) child.kill('SIGKILL');
    relay.close();
    rmSync(dir, { recursive: true, force: true });
  }
}
