// The load generator, in a process of its own. It opens its connections once. Each order names the
// work, and a time or a number of requests; each connection sends one request at a time. Then it
// reports the figures.

import { systemClock } from '#machinery/clock.ts';
import type { Target } from '../built-cluster.ts';
import { type Connection, ReopenedConnection } from './connection.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http2Connection } from './http2-connection.ts';
import { makeWork, type WorkName } from './work.ts';

export interface OpenOrder {
  readonly order: 'open';
  readonly target: Target;
  readonly protocol: 'h1' | 'h2';
  readonly connections: number;
}

export interface RunOrder {
  readonly order: 'run';
  readonly work: WorkName;
  /** See makeWork. */
  readonly from: number;
  /** The round ends at the time limit or the request limit, the earlier one. */
  readonly durationMs: number;
  readonly requests?: number;
  /** Default: all open connections. */
  readonly connections?: number;
}

export interface RunReport {
  readonly requests: number;
  readonly elapsedMs: number;
  readonly bytes: number;
  /** Processor time of this process, in ms. */
  readonly cpuMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const clock = systemClock;
let connections: Connection[] = [];

async function open({ target, protocol, connections: count }: OpenOrder): Promise<void> {
  const openOne = (): Promise<Connection> =>
    protocol === 'h1' ? Http1Connection.open(target) : Http2Connection.open(target);
  connections = await Promise.all(
    Array.from({ length: count }, () => ReopenedConnection.open(openOne)),
  );
}

async function run(order: RunOrder): Promise<RunReport> {
  const work = makeWork(order.work, order.from);
  const latencies: number[] = [];
  let bytes = 0;
  let left = order.requests ?? Number.POSITIVE_INFINITY;
  const cpu = process.cpuUsage();
  const began = clock.monotonic();
  const end = began + order.durationMs;
  const drive = async (connection: Connection): Promise<void> => {
    for (let now = began; now < end && left-- > 0;) {
      const { status, length } = await work.next(connection);
      if (status !== work.expectedStatus)
        throw new Error(`${order.work} was answered ${status}, not ${work.expectedStatus}`);
      bytes += length;
      const after = clock.monotonic();
      latencies.push(after - now);
      now = after;
    }
  };
  await Promise.all(connections.slice(0, order.connections).map(drive));
  const elapsedMs = clock.monotonic() - began;
  const used = process.cpuUsage(cpu);
  const sorted = Float64Array.from(latencies).sort();
  const at = (p: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
  return {
    requests: sorted.length,
    elapsedMs,
    bytes,
    cpuMs: (used.user + used.system) / 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

process.on('message', (message: OpenOrder | RunOrder) => {
  const doing = message.order === 'open' ? open(message) : run(message);
  doing.then(
    (report) => process.send?.({ report: report ?? null }),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
