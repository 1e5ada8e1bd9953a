// `npm run bench -- cores`: requests and deliveries a second as a function of the number of
// processes that serve the API. Each has the same part of a core, however many cores the machine
// has, and the clients have the rest.

import { BuiltCluster } from '../built-cluster.ts';
import { createNamespace } from '../load/bench.ts';
import type { RunReport } from '../load/generator.ts';
import { GeneratorProcess } from '../load/generator-process.ts';
import { workerFlags, workerPids, workersServe } from '../load/workers.ts';
import type { WorkName } from '../load/work.ts';
import { cpuMs } from '../process-usage.ts';
import { heading, median, note, show } from '../report.ts';
import { Clients } from '../watchers/clients.ts';
import { createWatched, watchedBody } from '../watchers/watched-object.ts';
import { CoreShares } from './core-shares.ts';

export interface CoresOptions {
  /** Numbers of workers beside the main process. */
  readonly workers: readonly number[];
  readonly nodeFlags: readonly string[];
}

/** The part of a core that each process has: several of them and the clients fit on two cores. */
const SHARE = 0.3;
const CONNECTIONS = 64;
const WATCHERS = 400;
const WATCHES_PER_CONNECTION = 10;
const WATCH_EVENTS = 40;
const IN_FLIGHT = 4;
/** ConfigMaps of 1 KB, which are got and listed. */
const OBJECTS = 2000;
const LIST_CONNECTIONS = 16;
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const ROUND_MS = 4000;
/** Code is compiled, and processes give up connections to those that have less to do. */
const WARM_UP_MS = 16_000;

/** Per second. */
interface Rates {
  readonly gets: number;
  readonly lists: number;
  readonly creates: number;
  readonly deliveries: number;
}

export async function cores({ workers, nodeFlags }: CoresOptions): Promise<void> {
  const problem = CoreShares.problem();
  if (problem !== undefined) {
    note(`cores: not measured, since ${problem}`);
    return;
  }
  let first: Rates | undefined;
  for (const count of workers) {
    heading(
      `cores: the API by ${count + 1} process${count === 0 ? '' : 'es'}, each with ${SHARE * 100} % of a core`,
    );
    const rates = await measured(count, nodeFlags);
    first ??= rates;
    const compared = first;
    const line = (what: keyof Rates, unit: string): void =>
      show({
        what,
        unit,
        values: [rates[what]],
        comparedWith: { name: `${workers[0]! + 1}`, value: compared[what] },
      });
    line('gets', '/s');
    line('lists', '/s');
    line('creates', '/s');
    line('deliveries', '/s');
  }
}

async function measured(workers: number, nodeFlags: readonly string[]): Promise<Rates> {
  const cluster = await BuiltCluster.start({
    flags: ['--runtime', 'simulated', ...workerFlags(workers)],
    nodeFlags,
  });
  const shares = new CoreShares(SHARE);
  let generator: GeneratorProcess | undefined;
  try {
    await createNamespace(cluster.target);
    await workersServe(cluster.target, workers);
    const pids = [cluster.pid, ...workerPids(cluster.pid)];
    generator = await GeneratorProcess.open({
      target: cluster.target,
      protocol: 'h1',
      connections: CONNECTIONS,
    });
    await generator.run({ work: 'create', from: 0, durationMs: 60_000, requests: OBJECTS });
    for (const pid of pids) shares.limit(pid);
    const rateOf = async (work: WorkName, connections: number): Promise<number> => {
      const order = { work, from: OBJECTS, connections };
      const rates: number[] = [];
      for (let round = 0; round <= ROUNDS; round++) {
        const before = pids.map(cpuMs);
        const isFirst = round === 0;
        const durationMs = isFirst ? WARM_UP_MS : ROUND_MS;
        const report = await generator!.run({ ...order, durationMs });
        if (work === 'create') order.from += report.requests;
        if (!isFirst) rates.push(perSecond(report));
        if (round === ROUNDS) showShares(work, pids, before, report);
      }
      return median(rates);
    };
    const gets = await rateOf('get', CONNECTIONS);
    const lists = await rateOf('list', LIST_CONNECTIONS);
    const creates = await rateOf('create', CONNECTIONS);
    return { gets, lists, creates, deliveries: await deliveriesOf(cluster) };
  } finally {
    generator?.close();
    await cluster.stop();
    await shares.remove();
  }
}

/** Shows how the work was spread over the processes. */
function showShares(
  work: WorkName,
  pids: readonly number[],
  before: readonly number[],
  { elapsedMs }: RunReport,
): void {
  const used = pids.map((pid, at) => (100 * (cpuMs(pid) - before[at]!)) / elapsedMs);
  note(
    `${work}: processor time of each process: ${used.map((part) => part.toFixed(0)).join(', ')} %`,
  );
}

const perSecond = ({ requests, elapsedMs }: RunReport): number => (requests * 1000) / elapsedMs;

async function deliveriesOf({ target }: BuiltCluster): Promise<number> {
  const clients = new Clients();
  try {
    await clients.send({
      order: 'open',
      target,
      ...(await createWatched(target)),
      watchers: WATCHERS,
      watchesPerConnection: WATCHES_PER_CONNECTION,
    });
    const rates: number[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const report = await clients.send({
        order: 'run',
        events: WATCH_EVENTS,
        body: watchedBody(),
        inFlight: IN_FLIGHT,
      });
      if (report === null) throw new Error('the clients reported nothing');
      if (round > 0) rates.push((report.deliveries * 1000) / report.elapsedMs);
    }
    return median(rates);
  } finally {
    clients.close();
  }
}
