// How fast virtual time goes by: a day in which nothing happens but heartbeats, and thirty days with
// hourly CronJobs. What the days leave is compared with what follows from the schedule.

import { pods } from '#api/groups/core/v1/index.ts';
import { startCluster } from '#cluster/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { cronMonth } from '../../test/scenarios/cron-month.ts';
import { heading, note, show } from '../report.ts';

const ROUNDS = Number(process.env['ROUNDS'] ?? 3);
const NODES = 10;
const PODS = 100;

export async function advance(): Promise<void> {
  heading(`embedded: a day of ${NODES} nodes and ${PODS} pods on a virtual clock`);
  const walls: number[] = [];
  const cpus: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { wall, cpu } = await day();
    walls.push(wall);
    cpus.push(cpu);
  }
  show({ what: 'advance(24h)', unit: 's', values: walls, goal: { atMost: 1 } });
  show({ what: '  CPU', unit: 's', values: cpus });

  heading('embedded: 30 days, 100 nodes, 1,000 pods, 10 hourly CronJobs');
  const used = process.cpuUsage();
  const { advanceMs, problems } = await cronMonth({
    nodes: 100,
    pods: 1000,
    cronJobs: 10,
    days: 30,
  });
  const { user, system } = process.cpuUsage(used);
  show({ what: 'advance(30d)', unit: 's', values: [advanceMs / 1000], goal: { atMost: 60 } });
  show({ what: '  CPU, with the start', unit: 's', values: [(user + system) / 1e6] });
  note(
    problems.length === 0
      ? 'every Job, pod and heartbeat is as it follows from the schedule'
      : `WRONG: ${problems.length} differences from the schedule, the first: ${problems[0]}`,
  );
}

async function day(): Promise<{ readonly wall: number; readonly cpu: number }> {
  const cluster = await startCluster({ nodes: NODES, clock: 'virtual' });
  try {
    const { client, clock } = cluster;
    await cluster.apply(deployment);
    await clock.runUntil(async () => {
      const { items } = await client.resource(pods).list();
      return items.filter(({ status }) => status.phase === 'Running').length === PODS;
    });
    const before = process.cpuUsage();
    const began = systemClock.monotonic();
    await clock.advance('24h');
    const wall = (systemClock.monotonic() - began) / 1000;
    const { user, system } = process.cpuUsage(before);
    return { wall, cpu: (user + system) / 1e6 };
  } finally {
    await cluster.stop();
  }
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${PODS}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
`;
