// The scheduler in a thread of its own, as in a cluster of many nodes; the API server is in the
// main thread.

import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport, type InProcessHandler } from '#client/in-process.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import { ThreadClients, ThreadServer, type ThreadUser } from '#client/thread/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { SchedulerMetrics } from '#scheduler/metrics/scheduler-metrics.ts';
import { Scheduler } from '#scheduler/scheduler.ts';

/** The thread's reply to a request for its figures. */
export interface SchedulerReport {
  readonly metrics: string;
  /** The memory of the thread's objects. */
  readonly heapMB: number;
}

export class SchedulerThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;

  /** `script`: a script whose main module calls runSchedulerThread() in a thread. */
  constructor(script: string, handlerOf: (user: ThreadUser) => InProcessHandler) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    new ThreadServer({ port: port1, handlerOf, logger: silentLogger }).start();
    this.#worker = new Worker(script, { workerData: port2, transferList: [port2] });
    this.#worker.on('error', (err) => {
      throw err;
    });
  }

  report(): Promise<SchedulerReport> {
    return new Promise((resolve) => {
      this.#worker.once('message', resolve);
      this.#worker.postMessage('report', []);
    });
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
    this.#port.close();
  }
}

/** Runs in the thread: schedules until the thread is ended. */
export async function runSchedulerThread(): Promise<void> {
  const clients = new ThreadClients(workerData as MessagePort);
  const clock = systemClock;
  const logger = silentLogger;
  const random = new SeededRandom(2);
  const metrics = new SchedulerMetrics({ clock });
  const handler = clients.handlerOf({
    name: 'system:kube-scheduler',
    groups: ['system:authenticated'],
  });
  const client = createClient(createInProcessTransport({ handler }));
  const informers = new SharedInformerFactory({ client, clock, random, logger });
  const parent = parentPort as MessagePort;
  parent.on('message', () => {
    const report: SchedulerReport = {
      metrics: metrics.text(),
      heapMB: process.memoryUsage().heapUsed / 1e6,
    };
    parent.postMessage(report, []);
  });
  await new Scheduler({ client, informers, clock, random, logger, metrics }).run(
    new AbortController().signal,
  );
}
