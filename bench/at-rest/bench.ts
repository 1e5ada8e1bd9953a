// Measures what a cluster uses while it gets no requests, with a thousand objects that controllers
// look after: processor time, and the writes meanwhile.

import { deployments } from '#api/groups/apps/v1/index.ts';
import { configMaps, pods, services } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import { cpuMs, residentMB } from '../process-usage.ts';
import { heading, note, show } from '../report.ts';

const NAMESPACE = 'default';
const DEPLOYMENTS = 100;
const REPLICAS = 5;
const SERVICES = 100;
const CONFIG_MAPS = 200;
const SETTLE_MS = 15_000;
const MEASURED_MS = 30_000;
const STARTED_TIMEOUT_MS = 120_000;

export async function atRest(): Promise<void> {
  heading(
    `at rest: ${DEPLOYMENTS} Deployments of ${REPLICAS} pods with their ReplicaSets, ` +
      `${SERVICES} Services, ${CONFIG_MAPS} ConfigMaps; 10 simulated nodes, embedded store`,
  );
  const cluster = await BuiltCluster.start({
    flags: ['--store', 'embedded', '--runtime', 'simulated', '--nodes', '10'],
  });
  const { client, close } = connectTo(cluster.target);
  try {
    await fill(client);
    await systemClock.sleep(SETTLE_MS);
    const before = await revision(client);
    const cpu = cpuMs(cluster.pid);
    await systemClock.sleep(MEASURED_MS);
    const used = cpuMs(cluster.pid) - cpu;
    show({
      what: 'CPU of a core',
      unit: '%',
      values: [(used / MEASURED_MS) * 100],
      goal: { atMost: 2 },
    });
    // Heartbeats are the Lease of each node, and the leader's Lease.
    show({
      what: '  writes',
      unit: '/s',
      values: [((await revision(client)) - before) / (MEASURED_MS / 1000)],
    });
    show({ what: '  resident', unit: 'MB', values: [residentMB(cluster.pid)] });
  } finally {
    close();
    await cluster.stop();
  }
  note('writes count every revision of the store; those of leases are all that there should be');
}

async function fill(client: Client): Promise<void> {
  const labels = (name: string) => ({ app: name });
  for (let i = 0; i < DEPLOYMENTS; i++) {
    const name = `rest-${i}`;
    await client
      .resource(deployments)
      .namespace(NAMESPACE)
      .create({
        metadata: { name },
        spec: {
          replicas: REPLICAS,
          selector: { matchLabels: labels(name) },
          template: {
            metadata: { labels: labels(name) },
            spec: { containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }] },
          },
        },
      });
  }
  for (let i = 0; i < SERVICES; i++) {
    const name = `rest-${i}`;
    const spec = { selector: labels(name), ports: [{ port: 80 }] };
    await client.resource(services).namespace(NAMESPACE).create({ metadata: { name }, spec });
  }
  for (let i = 0; i < CONFIG_MAPS; i++) {
    await client
      .resource(configMaps)
      .namespace(NAMESPACE)
      .create({ metadata: { name: `rest-${i}` }, data: { a: 'b' } });
  }
  const until = systemClock.monotonic() + STARTED_TIMEOUT_MS;
  while ((await running(client)) < DEPLOYMENTS * REPLICAS) {
    if (systemClock.monotonic() > until)
      throw new Error(`not all pods ran after ${STARTED_TIMEOUT_MS / 1000} s`);
    await systemClock.sleep(500);
  }
}

async function running(client: Client): Promise<number> {
  const { items } = await client.resource(pods).namespace(NAMESPACE).list();
  return items.filter(({ status }) => status.phase === 'Running').length;
}

/** Returns the revision of the store, which counts its writes. */
async function revision(client: Client): Promise<number> {
  const { metadata } = await client.resource(configMaps).namespace(NAMESPACE).list({ limit: 1 });
  return Number(metadata.resourceVersion);
}
