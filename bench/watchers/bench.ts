// `npm run bench -- watchers`: deliveries of events of 4 KB to many watchers of one resource, over
// HTTP/2 and TLS. The clients are a process of their own (client.ts) that shares the processors, so
// the processor time of the server for one delivery says more than deliveries a second.

import { BuiltCluster, type Target } from '../built-cluster.ts';
import { residentMB, threadsMs } from '../process-usage.ts';
import { heading, note, show } from '../report.ts';
import { sending } from './sending.ts';
import type { RunOrder, RunReport } from './client.ts';
import { Clients } from './clients.ts';
import { createWatched, watchedBody } from './watched-object.ts';

export interface WatchersOptions {
  /** Numbers of watchers. */
  readonly watchers: readonly number[];
  readonly nodeFlags: readonly string[];
  /** Another API server, which is measured in the same way, and its administrator's token. */
  readonly reference?: {
    readonly url: string;
    readonly token: string;
    /** Its process, if it is on this machine. */
    readonly pid?: number;
  };
  /** Default: 1 and 100. */
  readonly perConnection?: number;
}

const ROUNDS = Number(process.env.ROUNDS ?? 3);
/** Deliveries of a round. */
const DELIVERIES = Number(process.env.DELIVERIES ?? 150_000);
const IN_FLIGHT = 8;
/** The goal of 150,000 deliveries a second to 10,000 watchers. */
const GOAL = { perSecond: 150_000, p99Ms: 200 };
/** Watches of one connection: all watches of an informer factory, and the most that servers allow. */
const WATCHES_PER_CONNECTION = [1, 100];

export async function watchers(options: WatchersOptions): Promise<void> {
  for (const count of options.watchers) {
    await sending(count);
    for (const perConnection of perConnections(options)) {
      heading(
        `watchers: ${count.toLocaleString('en')} of one ConfigMap of 4 KB, ` +
          `${perConnection} on each connection, HTTP/2 and TLS`,
      );
      const cluster = await BuiltCluster.start({
        flags: ['--runtime', 'simulated'],
        nodeFlags: options.nodeFlags,
      });
      try {
        await measure({ target: cluster.target, pid: cluster.pid, count, perConnection });
      } finally {
        await cluster.stop();
      }
      if (options.reference === undefined) continue;
      note(`the same at ${options.reference.url}:`);
      const url = new URL(options.reference.url);
      const { token, pid } = options.reference;
      const target = { host: url.hostname, port: Number(url.port), token };
      await measure({ target, pid, count, perConnection });
    }
  }
}

const perConnections = ({ perConnection }: WatchersOptions): readonly number[] =>
  perConnection === undefined ? WATCHES_PER_CONNECTION : [perConnection];

interface Measured {
  readonly target: Target;
  /** The server's process, if it may be looked at. */
  readonly pid: number | undefined;
  readonly count: number;
  readonly perConnection: number;
}

async function measure({ target, pid, count, perConnection }: Measured): Promise<void> {
  const paths = await createWatched(target);
  const clients = new Clients();
  try {
    const before = pid === undefined ? Number.NaN : residentMB(pid);
    await clients.send({
      order: 'open',
      target,
      ...paths,
      watchers: count,
      watchesPerConnection: perConnection,
    });
    if (pid !== undefined)
      show({
        what: 'resident, per watcher',
        unit: 'KB',
        values: [((residentMB(pid) - before) * 1000) / count],
      });
    const body = watchedBody();
    const events = Math.ceil(DELIVERIES / count);
    const round = async (order: Partial<RunOrder>): Promise<Round> => {
      const cpu = pid === undefined ? Number.NaN : threadsMs(pid);
      const report = await clients.send({ events, body, ...order, order: 'run' });
      if (report === null) throw new Error('the clients reported nothing');
      const used = pid === undefined ? Number.NaN : threadsMs(pid) - cpu;
      return { ...report, serverUs: (used * 1000) / report.deliveries };
    };
    await round({ inFlight: IN_FLIGHT });
    const rounds = async (order: Partial<RunOrder>): Promise<Round[]> => {
      const all: Round[] = [];
      for (let i = 0; i < ROUNDS; i++) all.push(await round(order));
      return all;
    };
    print(`${IN_FLIGHT} writes in flight`, await rounds({ inFlight: IN_FLIGHT }));
    // The goal's rate, and with fewer watchers as many events for each of them.
    const rate = GOAL.perSecond / 10_000;
    print(`${rate} events a second`, await rounds({ rate }), count === 10_000);
  } finally {
    clients.close();
  }
}

interface Round extends RunReport {
  /** Processor time of the server for one delivery, in µs. */
  readonly serverUs: number;
}

function print(what: string, rounds: readonly Round[], hasGoal = false): void {
  show({
    what: `${what}: deliveries`,
    unit: '/s',
    values: rounds.map(({ deliveries, elapsedMs }) => (deliveries * 1000) / elapsedMs),
    ...(hasGoal && { goal: { atLeast: GOAL.perSecond } }),
  });
  show({ what: '  write to delivery, p50', unit: 'ms', values: rounds.map(({ p50Ms }) => p50Ms) });
  show({
    what: '  write to delivery, p99',
    unit: 'ms',
    values: rounds.map(({ p99Ms }) => p99Ms),
    ...(hasGoal && { goal: { atMost: GOAL.p99Ms } }),
  });
  if (rounds.some(({ serverUs }) => !Number.isNaN(serverUs)))
    show({
      what: '  processor time of the server, each',
      unit: 'µs',
      values: rounds.map(({ serverUs }) => serverUs),
    });
  show({
    what: '  processor time of the clients, each',
    unit: 'µs',
    values: rounds.map(({ cpuMs, deliveries }) => (cpuMs * 1000) / deliveries),
  });
}

/** Parses a list of numbers such as '1000,10000'. */
export function numbersOf(text: string): readonly number[] {
  return text.split(',').map((each) => {
    const number = Number(each);
    if (!Number.isInteger(number) || number < 1)
      throw new Error(`${JSON.stringify(each)} is not a number of watchers`);
    return number;
  });
}
