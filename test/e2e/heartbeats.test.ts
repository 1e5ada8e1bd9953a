// The heartbeats of all nodes of `cox up` reach the node lifecycle controller, from the main thread as from the
// thread of the components: a node whose renewals it does not see is not ready after the grace period.

import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { events, nodes } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { connect } from '#client/connect.ts';
import { coxUp, eventually, type RunningCluster, temporaryDir } from './harness.ts';

/** The time of the cluster's process runs so many times as fast as that of this process. */
const FAST_TIME = 8;
const PRELOAD = new URL('./fast-time.js', import.meta.url);
/** The controller's grace period of 50 seconds, and some of its rounds. In the cluster's time. */
const OBSERVED_MS = 70_000;
const NODES = 3;

const dir = temporaryDir();
let cluster: RunningCluster;
let client: Client;
let close: () => void;

beforeAll(async () => {
  const flags = ['--runtime', 'simulated', '--store', 'memory', '--nodes', String(NODES)];
  cluster = await coxUp(flags, {
    dataDir: join(dir.path, 'data'),
    env: { NODE_OPTIONS: `--import=${PRELOAD.href}`, FAST_TIME: String(FAST_TIME) },
  });
  ({ client, close } = await connect({ kubeconfig: cluster.kubeconfig }));
});
afterAll(async () => {
  close?.();
  await cluster?.stop();
  dir.remove();
});

/** Returns since when each node has been ready, in milliseconds, by its name. */
async function readySince(): Promise<ReadonlyMap<string, number>> {
  const { items } = await client.resource(nodes).list();
  return new Map(
    items.flatMap(({ metadata, status }) => {
      const ready = status.conditions?.find(({ type }) => type === 'Ready');
      return ready?.status === 'True'
        ? [[metadata.name, Date.parse(ready.lastTransitionTime ?? '')] as const]
        : [];
    }),
  );
}

test('nodes stay ready over the grace period, in whichever thread they are', async () => {
  const since = await readySince();
  expect(since.size).toBe(NODES);
  const held = client.resource(leases).namespace('kube-node-lease');
  await eventually('the renewals of a grace period', async () => {
    const { items } = await held.list();
    const renewed = items.filter(({ metadata, spec }) => {
      const lasts = Date.parse(spec.renewTime ?? '') - (since.get(metadata.name) ?? Infinity);
      return lasts >= OBSERVED_MS;
    });
    return renewed.length === NODES;
  });
  expect(await readySince()).toEqual(since);
  const { items } = await client.resource(events).namespace('default').list();
  expect(items.map(({ reason }) => reason)).not.toContain('NodeNotReady');
});
