// Runs one workload in one process: the API server with the memory store, the client that creates
// the pods and watches them, and the scheduler in a thread.

import { ApiServer } from '#apiserver/server.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { drive, type Measured } from './drive.ts';
import { type SchedulerReport, SchedulerThread } from './scheduler-thread.ts';
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
  let thread: SchedulerThread | undefined;
  const report = async (): Promise<SchedulerReport> =>
    (await thread?.report()) ?? { metrics: '', heapMB: 0 };
  const measured = await drive(workload, {
    byClass: false,
    client: clientOf('admin', ['system:masters', 'system:authenticated']),
    startScheduling: () => {
      thread = new SchedulerThread(process.argv[1]!, (user) => server.inProcess(user));
    },
    cpuSeconds: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    memoryMB: async () => process.memoryUsage().heapUsed / 1e6 + (await report()).heapMB,
    metrics: async () => (await report()).metrics,
  });
  await thread?.stop();
  await server.stop();
  await storage.close();
  return measured;
}
