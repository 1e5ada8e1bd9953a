// One workload in one process: API server with the memory store, scheduler, and who makes the pods and watches them.

import { ApiServer } from '../../src/apiserver/server.ts';
import type { Client } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { createInProcessTransport } from '../../src/client/in-process.ts';
import { SharedInformerFactory } from '../../src/client/informers/index.ts';
import { systemClock } from '../../src/machinery/clock.ts';
import { silentLogger } from '../../src/machinery/log.ts';
import { SeededRandom } from '../../src/machinery/random.ts';
import { SchedulerMetrics } from '../../src/scheduler/metrics/scheduler-metrics.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import { createMemoryStorage } from '../../src/storage/memory/index.ts';
import { drive, type Measured } from './drive.ts';
import type { Workload } from './workloads.ts';

export async function runInProcess(workload: Workload): Promise<Measured> {
  const clock = systemClock;
  const logger = silentLogger;
  const storage = createMemoryStorage({ clock, logger });
  const server = new ApiServer({
    random: new SeededRandom(1),
    logger,
    clock,
    storage,
    port: 0,
    disableAdmissionPlugins: ['ServiceAccount', 'Priority', 'TaintNodesByCondition'],
  });
  await server.start();
  const clientOf = (name: string, groups: readonly string[]): Client =>
    createClient(createInProcessTransport({ handler: server.inProcess({ name, groups }) }));
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  const metrics = new SchedulerMetrics({ clock });
  const measured = await drive(workload, {
    client: clientOf('admin', ['system:masters', 'system:authenticated']),
    startScheduling: () => {
      const random = new SeededRandom(2);
      const client = clientOf('system:kube-scheduler', ['system:authenticated']);
      const informers = new SharedInformerFactory({ client, clock, random, logger });
      running = new Scheduler({ client, informers, clock, random, logger, metrics }).run(stop.signal);
    },
    cpuSeconds: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    memoryMB: () => process.memoryUsage().heapUsed / 1e6,
    metrics: () => Promise.resolve(metrics.text()),
  });
  stop.abort();
  await running;
  await server.stop();
  await storage.close();
  return measured;
}
