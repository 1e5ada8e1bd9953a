// The scheduler is killed at each of its writes in turn, before the write arrives or after it took
// effect, and another one continues: every pod gets one node, no node is overcommitted, and the
// important pod gets the resources that preemption freed for it.

import { describe, expect, test } from 'vitest';
import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { TransportRequest } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import {
  type Fault,
  type RunningScheduler,
  startTestCluster,
  type TestCluster,
} from './testing/cluster.ts';

const CORES = 2;
const node = { allocatable: { cpu: String(CORES), memory: '8Gi', pods: '10' } };
/** Deleted at once, so that the test needs no kubelet. */
const low = { terminationGracePeriodSeconds: 0 };
const important = { priorityClassName: 'system-cluster-critical' };

/** Writes of events do not count. */
const isWrite = ({ method, path }: TransportRequest): boolean =>
  method !== 'GET' && !path.endsWith('/events');

/** Fills two nodes, and then requests one of them. Returns the final nodes of the pods. */
async function happen(
  cluster: TestCluster,
  until: (done: () => Promise<boolean>) => Promise<void>,
): Promise<void> {
  const inDefault = cluster.client.resource(pods).namespace('default');
  const all = async (): Promise<readonly Immutable<Pod>[]> => (await inDefault.list()).items;
  const nodeOf = new Map<string, string>();
  const check = (now: readonly Immutable<Pod>[]): void => {
    const used = new Map<string, number>();
    for (const { metadata, spec } of now) {
      if (spec.nodeName === undefined) continue;
      expect(nodeOf.get(metadata.uid) ?? spec.nodeName, metadata.name).toBe(spec.nodeName);
      nodeOf.set(metadata.uid, spec.nodeName);
      const cores = Number(spec.containers[0]?.resources.requests?.['cpu']);
      used.set(spec.nodeName, (used.get(spec.nodeName) ?? 0) + cores);
    }
    for (const [name, cores] of used) expect(cores, name).toBeLessThanOrEqual(CORES);
  };
  for (const name of ['a', 'b', 'c', 'd']) await cluster.addPod(name, { cpu: '1' }, low);
  await until(async () => {
    const now = await all();
    check(now);
    return now.every(({ spec }) => spec.nodeName !== undefined);
  });
  await cluster.addPod('important', { cpu: String(CORES) }, important);
  await until(async () => {
    const now = await all();
    check(now);
    return now.some(
      ({ metadata, spec }) => metadata.name === 'important' && spec.nodeName !== undefined,
    );
  });
  // No pod was preempted needlessly.
  expect(await all()).toHaveLength(3);
}

describe('a scheduler that is killed at a write', () => {
  test.each(['before it has arrived', 'after it was done'] as const)(
    '%s leaves nothing undone',
    async (when) => {
      let killed = 0;
      // Until the scheduler makes fewer writes.
      for (let at = 1; killed === at - 1; at++) {
        let writes = 0;
        const cluster = await startTestCluster();
        for (const name of ['n1', 'n2']) await cluster.addNode(name, node);
        let victim: RunningScheduler | undefined;
        const sent: Promise<unknown>[] = [];
        const kill: Fault = async (request, send) => {
          if (!isWrite(request)) return await send();
          if (++writes !== at) {
            const answer = send();
            sent.push(answer);
            return await answer;
          }
          killed++;
          if (when === 'after it was done') await send();
          victim?.crash();
          // Requests in flight have arrived or failed before another process starts.
          await Promise.allSettled(sent);
          victim = cluster.startScheduler();
          throw apierrors.serviceUnavailable('killed');
        };
        victim = cluster.startScheduler({}, kill);
        await happen(cluster, (done) => cluster.clock.runUntil(done, '10m'));
        await cluster.clock.advance('5s');
        await cluster.stop();
      }
      expect(killed).toBeGreaterThan(8);
    },
  );
});
