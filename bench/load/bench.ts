// Measures an API server under load: creates, gets and lists of ConfigMaps over TLS with client
// certificates, from a process that shares its processors. The server is the built program, by
// default with the embedded store on a simulated node.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { namespaces } from '#api/groups/core/v1/index.ts';
import { Pki } from '#cluster/credentials/pki.ts';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { BuiltCluster, NODE_FLAGS, type Target } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import { cpuMs, residentMB } from '../process-usage.ts';
import { heading, show, type Figure } from '../report.ts';
import type { RunReport } from './generator.ts';
import { GeneratorProcess } from './generator-process.ts';
import { NAMESPACE, type WorkName } from './work.ts';
import { workerFlags, workerPids, workersServe } from './workers.ts';

export interface LoadOptions {
  readonly store: 'embedded' | 'memory';
  readonly protocol: 'h1' | 'h2';
  /** Node's flags for the server's process, such as --cpu-prof. */
  readonly nodeFlags: readonly string[];
  /** So many workers run beside the main process. Default: 0. */
  readonly workers?: number;
}

const CONNECTIONS = 64;
const LIST_CONNECTIONS = 4;
const ROUNDS = 3;
const ROUND_MS = 2500;
const WARM_UP_MS = 1500;
/** The number of ConfigMaps that make a list of 24 MB. */
const LISTED = 20_000;

interface Round extends RunReport {
  /** Processor time of the server during the round, in ms; its workers included. */
  readonly serverCpuMs: number;
  /** The part of it that is the workers'. */
  readonly workersCpuMs: number;
}

export async function load({
  store,
  protocol,
  nodeFlags,
  workers = 0,
}: LoadOptions): Promise<void> {
  heading(
    `load: ${store} store, ${CONNECTIONS} connections over TLS ` +
      `(${protocol === 'h1' ? 'HTTP/1.1' : 'HTTP/2'}), ConfigMaps of 1 KB` +
      (workers === 0 ? '' : `, workers: ${workers}`),
  );
  const bare = await measureBare(protocol);
  const cluster = await BuiltCluster.start({
    flags: ['--store', store, '--runtime', 'simulated', ...workerFlags(workers)],
    nodeFlags,
  });
  let generator: GeneratorProcess | undefined;
  try {
    await createNamespace(cluster.target);
    await workersServe(cluster.target, workers);
    generator = await GeneratorProcess.open({
      target: cluster.target,
      protocol,
      connections: CONNECTIONS,
    });
    await measure(generator, cluster, bare);
  } finally {
    generator?.close();
    await cluster.stop();
  }
}

/** One round of each kind of request at a server that does next to nothing. */
interface Bare {
  readonly create: Round;
  readonly get: Round;
}

async function measure(
  generator: GeneratorProcess,
  cluster: BuiltCluster,
  bare: Bare,
): Promise<void> {
  let created = 0;
  const round = async (
    work: WorkName,
    durationMs: number,
    limits: { requests?: number; connections?: number } = {},
  ): Promise<Round> => {
    const pids = workerPids(cluster.pid);
    const cpu = (): readonly [main: number, workers: number] => [
      cpuMs(cluster.pid),
      pids.reduce((sum, pid) => sum + cpuMs(pid), 0),
    ];
    const before = cpu();
    const report = await generator.run({ work, from: created, durationMs, ...limits });
    if (work === 'create') created += report.requests;
    const after = cpu();
    const workersCpuMs = after[1] - before[1];
    return { ...report, serverCpuMs: after[0] - before[0] + workersCpuMs, workersCpuMs };
  };
  const rounds = async (work: WorkName, connections?: number): Promise<Round[]> => {
    const limits = connections === undefined ? {} : { connections };
    await round(work, WARM_UP_MS, limits);
    const measured: Round[] = [];
    for (let i = 0; i < ROUNDS; i++) measured.push(await round(work, ROUND_MS, limits));
    return measured;
  };

  const creates = await rounds('create');
  showRequests('creates', creates, { atLeast: 5000 }, bare.create);
  // Lists then have the same length on every machine.
  if (created < LISTED) await round('create', 60_000, { requests: LISTED - created });
  const gets = await rounds('get');
  showRequests('gets', gets, { atLeast: 12_000 }, bare.get);

  const lists = await rounds('list', LIST_CONNECTIONS);
  const [first] = lists;
  if (first === undefined) throw new Error('there was no list');
  const megabytes = first.bytes / first.requests / 1e6;
  show({
    what: `lists of ${created} (${megabytes.toFixed(0)} MB), ${LIST_CONNECTIONS} at a time`,
    unit: 'MB/s',
    values: lists.map(({ bytes, elapsedMs }) => bytes / 1000 / elapsedMs),
    goal: { atLeast: 400 },
  });
  show({
    what: '  server CPU',
    unit: 'ms/list',
    values: lists.map(({ serverCpuMs, requests }) => serverCpuMs / requests),
  });
  show({ what: 'resident after the lists', unit: 'MB', values: [residentMB(cluster.pid)] });
  for (const pid of workerPids(cluster.pid))
    show({ what: '  a worker', unit: 'MB', values: [residentMB(pid)] });
}

function showRequests(
  what: string,
  rounds: readonly Round[],
  goal: NonNullable<Figure['goal']>,
  bare: Round,
): void {
  const rate = ({ requests, elapsedMs }: RunReport): number => requests / (elapsedMs / 1000);
  const serverCpu = ({ serverCpuMs, requests }: Round): number => (serverCpuMs / requests) * 1000;
  show({
    what,
    unit: '/s',
    values: rounds.map(rate),
    goal,
    comparedWith: { name: 'bare server', value: rate(bare) },
  });
  show({ what: '  p50', unit: 'ms', values: rounds.map(({ p50Ms }) => p50Ms) });
  show({ what: '  p99', unit: 'ms', values: rounds.map(({ p99Ms }) => p99Ms) });
  const comparedWith = { name: 'bare server', value: serverCpu(bare) };
  show({ what: '  server CPU', unit: 'µs each', values: rounds.map(serverCpu), comparedWith });
  if (rounds.some(({ workersCpuMs }) => workersCpuMs > 0)) {
    show({
      what: '    of it workers',
      unit: 'µs each',
      values: rounds.map(({ workersCpuMs, requests }) => (workersCpuMs / requests) * 1000),
    });
  }
  show({
    what: '  load generator CPU',
    unit: 'µs each',
    values: rounds.map((round) => (round.cpuMs / round.requests) * 1000),
  });
}

/**
 * Measures a server that only keeps the bytes in a map, on the same processors with the same load
 * generator.
 */
/**
 * Measures Node's own server: it answers a create with the body that it got, and a get with bytes
 * that it has.
 */
export async function measureBare(protocol: 'h1' | 'h2'): Promise<Bare> {
  const pki = await Pki.open({ clock: systemClock, random: systemRandom });
  const serving = await pki.sign({ commonName: 'bare', usage: 'server', hosts: ['127.0.0.1'] });
  const client = await pki.sign({ commonName: 'load', usage: 'client' });
  const server = fork(fileURLToPath(new URL('bare-server.ts', import.meta.url)), {
    execArgv: [...process.execArgv, ...NODE_FLAGS],
  });
  let generator: GeneratorProcess | undefined;
  try {
    server.send(serving);
    const [{ port }] = (await once(server, 'message')) as [{ port: number }];
    const target = { host: '127.0.0.1', port, ca: pki.caCertificate, ...client };
    generator = await GeneratorProcess.open({ target, protocol, connections: CONNECTIONS });
    await generator.run({ work: 'create', from: 0, durationMs: WARM_UP_MS, requests: 10_000 });
    const round = async (work: WorkName, from: number): Promise<Round> => {
      const before = cpuMs(server.pid as number);
      const report = await (generator as GeneratorProcess).run({
        work,
        from,
        durationMs: ROUND_MS,
      });
      const serverCpuMs = cpuMs(server.pid as number) - before;
      return { ...report, serverCpuMs, workersCpuMs: 0 };
    };
    const create = await round('create', 0);
    return { create, get: await round('get', Math.min(create.requests, 1000)) };
  } finally {
    generator?.close();
    server.kill();
  }
}

export async function createNamespace(target: Target): Promise<void> {
  const { client, close } = connectTo(target);
  try {
    await client.resource(namespaces).create({ metadata: { name: NAMESPACE } });
  } finally {
    close();
  }
}
