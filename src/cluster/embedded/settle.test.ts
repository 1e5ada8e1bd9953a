// `settle()` resolves exactly when nothing can happen before time moves: work of all kinds is begun
// at random, and after settle() nothing changes however long one waits in real time.

import { afterEach, describe, expect, test } from 'vitest';
import { configMaps, events, pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import { systemClock, type VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { type EmbeddedCluster, startCluster } from '../index.ts';
import { execInPod } from './pod-streams.ts';

type Cluster = EmbeddedCluster<VirtualClock>;

/** So long nothing may happen in real time. */
const WAIT_MS = 50;
const ROUNDS = 12;

const running: Cluster[] = [];
const closing: (() => void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) close();
  for (const cluster of running.splice(0)) await cluster.stop();
});

/** A client of the cluster's port, if it has one. */
async function clientOverPort(cluster: Cluster): Promise<Client | undefined> {
  if (cluster.kubeconfigPath === undefined) return undefined;
  const access = await loadKubeconfig(cluster.kubeconfigPath);
  const transport = createHttpTransport({ ...access, clock: systemClock });
  closing.push(() => transport.close());
  return createClient(transport);
}

interface Work {
  readonly name: string;
  run(): Promise<unknown>;
}

/** Returns work of a random kind. */
function workOf(cluster: Cluster, client: Client, random: SeededRandom, id: number): Work {
  const name = `x-${id}`;
  const any = `x-${random.int(id + 1)}`;
  const scoped = client.resource(pods).namespace('default');
  const command = ['sh', '-c', 'echo x; sleep 9'];
  const spec = { containers: [{ name: 'c', image: 'busybox', command }] };
  const maps = client.resource(configMaps).namespace('default');
  const kinds: readonly Work[] = [
    { name: 'create a ConfigMap', run: () => maps.create({ metadata: { name }, data: {} }) },
    { name: 'create a pod', run: () => scoped.create({ metadata: { name }, spec }) },
    { name: 'delete a pod', run: () => scoped.delete(any) },
    { name: 'list', run: () => scoped.list({ limit: 2 }) },
    // Not by the cluster's handle, which lets time pass until the command ends.
    {
      name: 'exec',
      run: () => execInPod(cluster, any, ['sh', '-c', 'for i in 1 2; do echo $i; done']),
    },
    { name: 'logs', run: () => cluster.logs(any) },
    {
      name: 'OpenAPI',
      run: () => client.transport.text({ method: 'GET', path: '/openapi/v2' }),
    },
    { name: 'define a kind', run: () => cluster.apply(crd(name)) },
  ];
  return kinds[random.int(kinds.length)] as Work;
}

const crd = (name: string): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${name}s.example.com}
spec:
  group: example.com
  names: {plural: ${name}s, singular: ${name}, kind: X${name.replace('-', '')}}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`;

async function stateOf({ client }: Cluster): Promise<unknown> {
  return [
    await client.resource(pods).list(),
    await client.resource(events).list(),
    await client.resource(configMaps).list(),
  ];
}

describe.each([
  ['without a port', {}],
  ['with a port', { port: 0 }],
  ['with 40 nodes', { nodes: 40 }],
] as const)('settle %s', (_name, options) => {
  test('nothing happens afterwards until time moves', async () => {
    const cluster = await startCluster({ clock: 'virtual', ...options });
    running.push(cluster);
    const { clock } = cluster;
    const clients = [cluster.client, (await clientOverPort(cluster)) ?? cluster.client];
    const random = new SeededRandom('settle');
    let begun = 0;
    const pending = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      for (let count = random.int(20); count >= 0; count--) {
        const client = clients[random.int(2)] as Client;
        const work = workOf(cluster, client, random, begun++);
        const name = `${begun} ${work.name}`;
        pending.add(name);
        const end = (): void => void pending.delete(name);
        // A failure is an end, too: a pod may not exist.
        work.run().then(end, end);
      }
      await clock.settle();
      const pendingBefore = [...pending];
      const before = await stateOf(cluster);
      await clock.settle();
      await systemClock.sleep(WAIT_MS);
      expect([...pending]).toEqual(pendingBefore);
      expect(await stateOf(cluster)).toEqual(before);
      await clock.advance(random.int(3000));
    }
    await clock.advance('1m');
    expect([...pending]).toEqual([]);
  });
});

test('a pod whose ServiceAccount does not come is rejected without waiting for time', async () => {
  const cluster = await startCluster({
    clock: 'virtual',
    controllers: ['*', '-serviceaccount-controller'],
  });
  try {
    const before = cluster.clock.now();
    const applied = cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'nginx' }] },
    });
    await expect(applied).rejects.toThrow('serviceaccount "default" not found');
    expect(cluster.clock.now()).toBe(before);
  } finally {
    await cluster.stop();
  }
});
