// Measures the time from the deletion of a namespace with ten thousand objects until it is gone.

import { configMaps, namespaces } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { isNotFound } from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import { cpuMs } from '../process-usage.ts';
import { heading, show } from '../report.ts';

const OBJECTS = 10_000;
const CREATORS = 16;
const NAMESPACE = 'much';
const TIMEOUT_MS = 120_000;

export async function namespaceDeletion(): Promise<void> {
  heading(
    `namespace: deletion of one with ${OBJECTS} ConfigMaps, half of them owned by the other half; embedded store`,
  );
  const cluster = await BuiltCluster.start({
    flags: ['--store', 'embedded', '--runtime', 'simulated'],
  });
  const { client, close } = connectTo(cluster.target);
  try {
    await client.resource(namespaces).create({ metadata: { name: NAMESPACE } });
    await fill(client);
    const cpu = cpuMs(cluster.pid);
    const began = systemClock.monotonic();
    await client.resource(namespaces).delete(NAMESPACE);
    while (await isThere(client)) {
      if (systemClock.monotonic() - began > TIMEOUT_MS)
        throw new Error(`it was there after ${TIMEOUT_MS / 1000} s`);
      await systemClock.sleep(50);
    }
    show({
      what: 'until it is gone',
      unit: 's',
      values: [(systemClock.monotonic() - began) / 1000],
      goal: { atMost: 10 },
    });
    show({ what: '  CPU of the cluster', unit: 'ms', values: [cpuMs(cluster.pid) - cpu] });
  } finally {
    close();
    await cluster.stop();
  }
}

async function fill(client: Client): Promise<void> {
  const maps = client.resource(configMaps).namespace(NAMESPACE);
  let next = 0;
  const creator = async (): Promise<void> => {
    while (next < OBJECTS) {
      const index = next;
      next += 2;
      const owner = await maps.create({ metadata: { name: `owner-${index}` }, data: { a: 'b' } });
      const { name, uid } = owner.metadata;
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }];
      await maps.create({
        metadata: { name: `owned-${index}`, ownerReferences },
        data: { a: 'b' },
      });
    }
  };
  await Promise.all(Array.from({ length: CREATORS }, creator));
}

async function isThere(client: Client): Promise<boolean> {
  try {
    await client.resource(namespaces).get(NAMESPACE);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
