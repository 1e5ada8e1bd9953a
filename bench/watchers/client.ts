// The clients of `npm run bench -- watchers`, in a process of their own: watchers of one ConfigMap
// and its writer. The writer changes the object; each watcher receives the changes in the order of
// the writes, so a watcher's n-th event is the n-th write, and the time between the two needs no
// clock in the object.

import { systemClock } from '#machinery/clock.ts';
import type { Target } from '../built-cluster.ts';
import { ReopenedConnection } from '../load/connection.ts';
import { Http1Connection } from '../load/http1-connection.ts';
import { openWatches } from './http2-watches.ts';
import { LatencyHistogram } from './latency-histogram.ts';

export interface OpenOrder {
  readonly order: 'open';
  readonly target: Target;
  /** The path of the watches, with the revision after which they begin. */
  readonly watchPath: string;
  /** The path of the object that is written. */
  readonly objectPath: string;
  readonly watchers: number;
  readonly watchesPerConnection: number;
}

export interface RunOrder {
  readonly order: 'run';
  readonly events: number;
  /** The object's JSON without its last field, a number. */
  readonly body: string;
  /** Events per second. Absent: as many as are delivered. */
  readonly rate?: number;
  /** The number of writes that wait for deliveries, without `rate`. */
  readonly inFlight?: number;
}

export interface RunReport {
  readonly deliveries: number;
  /** From the first write to the last delivery, in ms. */
  readonly elapsedMs: number;
  /** From the beginning of the write to a delivery, in ms. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Processor time of this process. */
  readonly cpuMs: number;
}

const clock = systemClock;

class Watchers {
  readonly #order: OpenOrder;
  readonly #received: Uint32Array;
  /** The number of events of earlier runs. */
  #before = 0;
  #latencies = new LatencyHistogram();
  /** When each event of the run was written. */
  #written: number[] = [];
  /** Missing deliveries of each event of the run. */
  #missing = new Int32Array(0);
  #onComplete: () => void = () => undefined;
  failure: Error | undefined;

  static async open(order: OpenOrder): Promise<Watchers> {
    const watchers = new Watchers(order);
    await watchers.#open();
    return watchers;
  }

  private constructor(order: OpenOrder) {
    this.#order = order;
    this.#received = new Uint32Array(order.watchers);
  }

  async #open(): Promise<void> {
    const { target, watchPath: path, watchers, watchesPerConnection } = this.#order;
    for (let first = 0; first < watchers; first += watchesPerConnection)
      await openWatches({
        target,
        path,
        watches: Math.min(watchesPerConnection, watchers - first),
        onEvent: (watch) => this.#delivered(first + watch),
        onFailure: (error) => {
          this.failure = error;
          this.#onComplete();
        },
      });
  }

  #delivered(watcher: number): void {
    const event = this.#received[watcher]! - this.#before;
    this.#received[watcher]!++;
    this.#latencies.add(clock.monotonic() - this.#written[event]!);
    if (--this.#missing[event]! === 0) this.#onComplete();
  }

  async run(order: RunOrder): Promise<RunReport> {
    const { events, rate, inFlight = 1 } = order;
    this.#latencies = new LatencyHistogram();
    this.#written = [];
    this.#missing = new Int32Array(events).fill(this.#order.watchers);
    let complete = 0;
    let wake: () => void = () => undefined;
    this.#onComplete = () => {
      complete++;
      wake();
    };
    const until = async (condition: () => boolean): Promise<void> => {
      while (!condition()) {
        if (this.failure !== undefined) throw this.failure;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    // A connection of each run: the server closes one that is idle while the watches are opened.
    const writer = await ReopenedConnection.open(() => Http1Connection.open(this.#order.target));
    const cpu = process.cpuUsage();
    const began = clock.monotonic();
    for (let event = 0; event < events; event++) {
      if (rate === undefined) await until(() => event - complete < inFlight);
      else {
        const due = began + (event * 1000) / rate - clock.monotonic();
        if (due > 0) await clock.sleep(due);
      }
      // A late event counts from when it was due.
      this.#written.push(rate === undefined ? clock.monotonic() : began + (event * 1000) / rate);
      const body = Buffer.from(`${order.body}${this.#before + event}"}}`, 'utf8');
      const { status } = await writer.request('PUT', this.#order.objectPath, body);
      if (status !== 200) throw new Error(`a write was answered with ${status}`);
    }
    await until(() => complete === events);
    writer.close();
    const elapsedMs = clock.monotonic() - began;
    const used = process.cpuUsage(cpu);
    this.#before += events;
    return {
      deliveries: this.#latencies.count,
      elapsedMs,
      p50Ms: this.#latencies.quantile(0.5),
      p99Ms: this.#latencies.quantile(0.99),
      maxMs: this.#latencies.quantile(1),
      cpuMs: (used.user + used.system) / 1000,
    };
  }
}

let watchers: Watchers | undefined;

async function obey(order: OpenOrder | RunOrder): Promise<RunReport | null> {
  if (order.order === 'open') {
    watchers = await Watchers.open(order);
    return null;
  }
  if (watchers === undefined) throw new Error('there are no watchers yet');
  return watchers.run(order);
}

process.on('message', (order: OpenOrder | RunOrder) => {
  obey(order).then(
    (report) => process.send?.({ report }),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
