// Heartbeats that are computed when the clock stops, compared with heartbeats that are made one by
// one: every observer sees the same.

import { afterEach, describe, expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { events, nodes, pods } from '#api/groups/core/v1/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import type { Fault } from '#simulation/index.ts';
import { type EmbeddedCluster, startCluster } from '../index.ts';

type Cluster = EmbeddedCluster<VirtualClock>;
type Mode = 'lazy' | 'eager';

const running: Cluster[] = [];
afterEach(async () => {
  for (const cluster of running.splice(0)) await cluster.stop();
});

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
`;

/** Everything that a client can read now, with the revision of each list. */
async function stateOf(cluster: Cluster): Promise<unknown> {
  const read = async (type: ResourceType<KubeObject>): Promise<unknown> => {
    const { metadata, items } = await cluster.client.resource(type).list();
    return { revision: metadata.resourceVersion, items };
  };
  return {
    now: cluster.clock.now(),
    leases: await read(leases),
    nodes: await read(nodes),
    pods: await read(pods),
    events: await read(events),
  };
}

/** Follows a resource. The returned function stops that and returns the events. */
async function follow(
  cluster: Cluster,
  type: ResourceType<KubeObject>,
  resourceVersion: string,
): Promise<() => Promise<readonly unknown[]>> {
  const stream = await cluster.client
    .resource(type)
    .watch({ resourceVersion, allowWatchBookmarks: true, timeoutSeconds: 1_000_000 });
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const event of stream) seen.push({ at: cluster.clock.now(), ...event });
  })();
  return async () => {
    await cluster.clock.settle();
    stream.stop();
    await reading;
    return seen;
  };
}

async function revisionOf(cluster: Cluster): Promise<string> {
  return (await cluster.client.resource(pods).list()).metadata.resourceVersion;
}

/** Hours without an event: one by day, three at night. */
const QUIET = partOrWhole('61m', '3h');

/** Returns everything that observers of a cluster see in some hours. */
async function observations(mode: Mode): Promise<readonly unknown[]> {
  const cluster = await startCluster({ nodes: 3, clock: 'virtual', heartbeats: mode });
  running.push(cluster);
  const { clock } = cluster;
  const seen: unknown[] = [];
  const look = async (): Promise<void> => void seen.push(await stateOf(cluster));

  await cluster.apply(DEPLOYMENT);
  await clock.advance('26m');
  await look();
  const old = await revisionOf(cluster);
  await clock.advance(QUIET);
  await look();

  // The past, as far as it is kept.
  const recent = Number(await revisionOf(cluster)) - 40;
  const replay = await follow(cluster, leases, String(recent));
  await clock.settle();
  seen.push(await replay());
  const stale = await follow(cluster, leases, old);
  seen.push(await stale());
  const past = await cluster.client
    .resource(leases)
    .list({ resourceVersion: String(recent), resourceVersionMatch: 'Exact' } as object)
    .catch((error: unknown) => apierrors.reasonForError(error));
  seen.push(past);

  // The present, as it happens.
  const stops = [
    await follow(cluster, leases, await revisionOf(cluster)),
    await follow(cluster, nodes, await revisionOf(cluster)),
    await follow(cluster, pods, await revisionOf(cluster)),
  ];
  await clock.advance('6m');
  for (const stop of stops) seen.push(await stop());
  await clock.advance('11m');
  await look();

  // Writes between heartbeats.
  await cluster.client
    .resource(nodes)
    .patch('node-1', 'application/merge-patch+json', { spec: { unschedulable: true } });
  await clock.advance('7m');
  await look();
  await cluster.client
    .resource(leases)
    .namespace('kube-node-lease')
    .patch('node-3', 'application/merge-patch+json', { metadata: { labels: { a: 'b' } } });
  await clock.advance('47s');
  await look();
  await clock.advance('13m');

  // A node falls silent, and comes back.
  await cluster.stopNode('node-2');
  for (let minute = 0; minute < 7; minute++) {
    await clock.advance('1m');
    await look();
  }
  await cluster.startNode('node-2');
  await clock.advance('15m');
  await look();
  return seen;
}

/** Returns what observers of a cluster see around faults that few heartbeats can meet. */
async function observationsUnderFaults(mode: Mode): Promise<readonly unknown[]> {
  const cluster = await startCluster({ nodes: 3, clock: 'virtual', heartbeats: mode });
  running.push(cluster);
  const { clock, faults } = cluster;
  await cluster.apply(DEPLOYMENT);
  await clock.advance('11m');
  const seen: unknown[] = [];
  const during = async (fault: () => Fault, duration: string): Promise<void> => {
    const added = fault();
    await clock.advance(duration);
    seen.push(await stateOf(cluster));
    added.end();
    await clock.advance('6m');
    seen.push(await stateOf(cluster));
  };
  await during(() => faults.partition('kubelet/node-1'), '3m');
  await during(() => faults.crash('kubelet/node-2'), '70s');
  await during(() => faults.crash('controller-manager'), '70s');
  await during(() => faults.slow('kubelet/node-3', { by: '2s' }), '3m');
  await during(() => faults.fail(503, { component: 'scheduler' }), '2m');
  await during(() => faults.delayEvents({ kind: 'Pod', by: '3s' }), '2m');
  return seen;
}

describe('heartbeats that are computed later', () => {
  test('observers see the same around faults that few heartbeats can meet', async () => {
    const lazy = await observationsUnderFaults('lazy');
    const eager = await observationsUnderFaults('eager');
    expect(lazy.length).toBe(eager.length);
    lazy.forEach((each, index) => expect(each, `observation ${index}`).toEqual(eager[index]));
  }, 900_000);

  test('only the heartbeats that a fault can meet are made by kubelets', async () => {
    const lines: string[] = [];
    const cluster = await startCluster({
      nodes: 12,
      clock: 'virtual',
      hashHistory: true,
      onHistory: (line) => void lines.push(line),
    });
    running.push(cluster);
    await cluster.clock.advance('10m');
    lines.length = 0;
    cluster.faults.partition('kubelet/node-1');
    await cluster.clock.advance('3m');
    const renewals = lines.filter((line) => / PATCH \S*\/leases\//.test(line));
    expect(renewals.length).toBeGreaterThan(10);
    expect(renewals.filter((line) => !line.includes('/leases/node-1?'))).toEqual([]);
  }, 300_000);

  test('every observer sees what it sees of heartbeats that are made one by one', async () => {
    const [lazy, eager] = [await observations('lazy'), await observations('eager')];
    expect(lazy.length).toBe(eager.length);
    lazy.forEach((each, index) => expect(each, `observation ${index}`).toEqual(eager[index]));
  }, 300_000);
});
