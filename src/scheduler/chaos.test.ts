// Invariants under random faults: no pod is bound twice, no node is overcommitted, no pod is lost.

import { describe, expect, test } from 'vitest';
import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { SeededRandom } from '#machinery/random.ts';
import { type Fault, startTestCluster } from './testing/cluster.ts';

const NODES = 4;
const CORES = 4;

/** Makes requests fail before they arrive or after they took effect, or arrive late, at random. */
function unreliable(
  random: SeededRandom,
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>,
): Fault {
  return async (request, send) => {
    switch (random.int(12)) {
      case 0:
        throw apierrors.serviceUnavailable('connection refused');
      case 1:
        throw apierrors.tooManyRequests('later', 1);
      case 2: {
        await send();
        throw apierrors.timeoutError('the answer was lost');
      }
      case 3:
        await sleep(random.int(3000), request.signal);
        return await send();
      default:
        return await send();
    }
  };
}

/**
 * Returns the node of each bound pod, by UID; throws if a pod has moved or a node is overcommitted.
 */
async function check(
  client: Client,
  before: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const { items } = await client.resource(pods).namespace('default').list();
  const bound = new Map<string, string>();
  const cores = new Map<string, number>();
  for (const pod of items) {
    const node = pod.spec.nodeName;
    if (node === undefined) continue;
    bound.set(pod.metadata.uid, node);
    expect(before.get(pod.metadata.uid) ?? node).toBe(node);
    cores.set(node, (cores.get(node) ?? 0) + coresOf(pod));
  }
  for (const [node, used] of cores) expect(used, node).toBeLessThanOrEqual(CORES);
  return bound;
}

function coresOf(pod: Immutable<Pod>): number {
  return Number(pod.spec.containers[0]?.resources.requests?.['cpu']);
}

describe('the scheduler with random faults', () => {
  test.each(Array.from({ length: 12 }, (_, i) => i))(
    'keeps its promises (seed %i)',
    async (seed) => {
      const random = new SeededRandom(seed);
      const cluster = await startTestCluster();
      const fault = unreliable(random.derive('faults'), (ms, signal) =>
        cluster.clock.sleep(ms, signal),
      );
      for (let i = 0; i < NODES; i++)
        await cluster.addNode(`n${i}`, {
          allocatable: { cpu: String(CORES), memory: '32Gi', pods: '110' },
        });
      const client = cluster.client.resource(pods).namespace('default');
      let scheduler = cluster.startScheduler({}, fault);
      let bound: ReadonlyMap<string, string> = new Map();
      let made = 0;
      for (let step = 0; step < 60; step++) {
        switch (random.int(6)) {
          case 0:
          case 1:
          case 2:
            await cluster.addPod(`p${made++}`, { cpu: String(1 + random.int(3)) });
            break;
          case 3: {
            const { items } = await client.list();
            const victim = items[random.int(Math.max(items.length, 1))];
            if (victim !== undefined)
              await client.delete(victim.metadata.name, { gracePeriodSeconds: 0 });
            break;
          }
          case 4:
            await cluster.clock.advance(random.int(5000));
            break;
          default: {
            if (random.int(4) > 0) break;
            const stopping = scheduler.stop();
            await cluster.clock.advance('10s');
            await stopping;
            scheduler = cluster.startScheduler({}, fault);
          }
        }
        bound = await check(cluster.client, bound);
      }
      // Finally every pod that fits is bound: a pending pod fits nowhere.
      scheduler.setFault(undefined);
      await cluster.clock.advance('10m');
      bound = await check(cluster.client, bound);
      const { items } = await client.list();
      const free = Array.from({ length: NODES }, (_, i) => {
        const here = items.filter((pod) => pod.spec.nodeName === `n${i}`);
        return here.reduce((left, pod) => left - coresOf(pod), CORES);
      });
      for (const pod of items)
        if (pod.spec.nodeName === undefined)
          expect(coresOf(pod)).toBeGreaterThan(Math.max(...free));
      expect(scheduler.logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
      await cluster.stop();
    },
  );
});
