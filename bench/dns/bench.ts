// Measures the cluster's DNS: queries per second beside CoreDNS and beside a server that only
// echoes packets, the time until a record is visible, and the memory of many records. `COREDNS` in
// the environment names CoreDNS' binary; without it, CoreDNS is left out.

import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { encode } from 'dns-packet';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { services } from '#api/groups/core/v1/index.ts';
import { startCluster, type EmbeddedCluster } from '#cluster/index.ts';
import { nodeSockets } from '#dns/index.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { endedWithRun, temporaryDirectory } from '../clean-up.ts';
import { heading, note, quantile, show } from '../report.ts';

const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
const SECONDS = 3;
const COREDNS_PORT = 5393;
const WRITES = 100;
const SLICES = 1500;
const PER_SLICE = 100;
const NAMES = [
  'kubernetes.default.svc.cluster.local',
  ...Array.from({ length: 50 }, (_, i) => `web-${i}.default.svc.cluster.local`),
];

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const node = (file: string, args: readonly string[], flags: readonly string[] = []): ChildProcess =>
  endedWithRun(
    spawn(process.execPath, ['--import', 'tsx', ...flags, here(file), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );

async function line(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the process has no output');
  const lines = createInterface({ input: child.stdout });
  const [text] = (await once(lines, 'line')) as [string];
  lines.close();
  return text;
}

async function load(port: number): Promise<number> {
  const { perSecond, failures, lost } = JSON.parse(
    await line(node('generator.ts', [String(port), String(SECONDS), ...NAMES])),
  );
  if (failures > 0 || lost > 100) note(`${failures} answers without a record, ${lost} lost`);
  return perSecond;
}

export async function dns(): Promise<void> {
  heading('DNS');
  const dir = temporaryDirectory('dns-bench-');
  const cluster = await startCluster({
    nodes: 0,
    port: 0,
    controllers: ['*', '-endpointslice', '-endpoints'],
  });
  writeFileSync(join(dir, 'kubeconfig'), cluster.kubeconfig as string);
  const inDefault = cluster.client.resource(services).namespace('default');
  for (let i = 0; i < 50; i++) {
    await inDefault.create({ metadata: { name: `web-${i}` }, spec: { ports: [{ port: 80 }] } });
  }
  const ours = node('server-process.ts', [join(dir, 'kubeconfig')], ['--expose-gc']);
  const coredns = startCoreDns(dir);
  const echo = createSocket('udp4');
  try {
    const port = Number(await line(ours));
    if (coredns !== undefined) await answering(COREDNS_PORT, NAMES[1]!);
    echo.on('message', (message, from) => {
      // The packet is as long as an answer.
      echo.send(Buffer.concat([message, Buffer.alloc(16)]), from.port, from.address);
    });
    echo.bind(0, '127.0.0.1');
    await once(echo, 'listening');
    await throughput(port, echo.address().port, coredns !== undefined);
    await visibility(cluster, port);
    await memory(cluster, ours, port);
  } finally {
    echo.close();
    coredns?.kill();
    ours.kill();
    await cluster.stop();
    rmSync(dir, { recursive: true });
  }
}

function startCoreDns(dir: string): ChildProcess | undefined {
  const program = process.env['COREDNS'];
  if (program === undefined) return undefined;
  const corefile = join(dir, 'Corefile');
  writeFileSync(
    corefile,
    `.:${COREDNS_PORT} {
  bind 127.0.0.1
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig ${join(dir, 'kubeconfig')}
    pods insecure
    fallthrough in-addr.arpa ip6.arpa
    ttl 5
  }
  prometheus 127.0.0.1:9393
  cache 30 {
    disable success cluster.local
    disable denial cluster.local
  }
  loop
  loadbalance
}
`,
  );
  return endedWithRun(spawn(program, ['-conf', corefile], { stdio: 'ignore' }));
}

async function ask(port: number, name: string): Promise<Buffer> {
  const question = encode({
    type: 'query',
    id: 1,
    flags: 0x0100,
    questions: [{ name, type: 'A' }],
  });
  return nodeSockets.askUdp(
    { address: '127.0.0.1', port },
    question,
    () => true,
    AbortSignal.timeout(1000),
  );
}

const found = (answer: Buffer): boolean => answer.readUInt16BE(6) > 0;

/** Resolves when the server answers with a record. */
async function answering(port: number, name: string): Promise<void> {
  await wait.poll({ clock: systemClock, intervalMs: 100, timeoutMs: 60_000 }, () =>
    // The server may not listen yet, or may be busy.
    ask(port, name).then(found, () => false),
  );
}

async function throughput(port: number, echoPort: number, withCoreDns: boolean): Promise<void> {
  const rates = { ours: [] as number[], coredns: [] as number[], echo: [] as number[] };
  // The rounds take turns, so that load from elsewhere on the machine affects all of them alike.
  for (let round = 0; round < ROUNDS; round++) {
    rates.ours.push(await load(port));
    if (withCoreDns) rates.coredns.push(await load(COREDNS_PORT));
    rates.echo.push(await echoLoad(echoPort));
  }
  const comparison = withCoreDns
    ? { name: 'CoreDNS', value: quantile(rates.coredns, 0.5) }
    : { name: 'packets sent back', value: quantile(rates.echo, 0.5) };
  show({
    what: 'queries of 51 services',
    unit: '/s',
    values: rates.ours,
    goal: { atLeast: 34_000 },
    comparedWith: comparison,
  });
  if (withCoreDns) show({ what: 'the same by CoreDNS', unit: '/s', values: rates.coredns });
  show({ what: 'packets sent back by a bare socket', unit: '/s', values: rates.echo });
}

/**
 * Measures a server that echoes packets. An echoed packet has no record, which counts as no failure
 * here.
 */
async function echoLoad(port: number): Promise<number> {
  return JSON.parse(await line(node('generator.ts', [String(port), String(SECONDS), ...NAMES])))
    .perSecond;
}

/**
 * Measures the time from the call of the write until the first answer with the record, for queries
 * without a pause.
 */
async function visibility(cluster: EmbeddedCluster, port: number): Promise<void> {
  const delays: number[] = [];
  const inDefault = cluster.client.resource(services).namespace('default');
  for (let i = 0; i < WRITES; i++) {
    const name = `new-${i}`;
    await inDefault.create({ metadata: { name }, spec: { ports: [{ port: 80 }] } });
    const start = performance.now();
    while (!found(await ask(port, `${name}.default.svc.cluster.local`)));
    delays.push(performance.now() - start);
  }
  show({
    what: 'a record visible after the write, p99',
    unit: 'ms',
    values: [quantile(delays, 0.99)],
    goal: { atMost: 10 },
  });
  note(
    `median ${quantile(delays, 0.5).toFixed(2)} ms; the server is another process, on a connection over TLS`,
  );
}

async function memory(cluster: EmbeddedCluster, ours: ChildProcess, port: number): Promise<void> {
  const measure = async (): Promise<{ records: number; rss: number }> => {
    const text = line(ours);
    ours.kill('SIGUSR2');
    return JSON.parse(await text);
  };
  const before = await measure();
  const inDefault = cluster.client.resource(endpointSlices).namespace('default');
  await cluster.client
    .resource(services)
    .namespace('default')
    .create({ metadata: { name: 'last' }, spec: { clusterIP: 'None', ports: [{ port: 80 }] } });
  for (let i = 0; i < SLICES; i++) {
    const name = i === SLICES - 1 ? 'last' : `set-${i % 150}`;
    await inDefault.create({
      metadata: { name: `slice-${i}`, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: Array.from({ length: PER_SLICE }, (_, k) => {
        const n = i * PER_SLICE + k;
        return {
          addresses: [`10.${100 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`],
          conditions: { ready: true, serving: true, terminating: false },
          // Half of the pods belong to a StatefulSet.
          ...(i % 2 === 1 && { hostname: `pod-${n}` }),
          nodeName: `node-${n % 1000}`,
          targetRef: { kind: 'Pod', namespace: 'default', name: `pod-${n}`, uid: `uid-${n}` },
        };
      }),
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    });
  }
  await answering(port, 'last.default.svc.cluster.local');
  await systemClock.sleep(1000);
  const after = await measure();
  show({
    what: 'records of 150,000 pods',
    unit: 'MB',
    values: [(after.records - before.records) / 2 ** 20],
    goal: { atMost: 60 },
  });
  note(
    `resident ${(before.rss / 2 ** 20).toFixed(0)} MB before, ${(after.rss / 2 ** 20).toFixed(0)} MB after`,
  );
}
