// A small cluster with nodes and pods of three priorities that are added, changed and removed at
// random, while requests fail or lose their responses, watches are slow, break or expire, and the
// scheduler is killed. Invariants: no pod moves from its node, no node is overcommitted. Finally: a
// waiting pod fits nowhere, and no less important pod blocks it.

import { describe, expect, test } from 'vitest';
import { nodes, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { WatchQueue } from '#machinery/watch.ts';
import type { WatchEvent } from '#client/transport.ts';
import {
  type Fault,
  type RunningScheduler,
  startTestCluster,
  type TestCluster,
  type WatchFault,
} from './testing/cluster.ts';

const SEEDS = Number(process.env['MODEL_SEEDS'] ?? 6);
const STEPS = 120;
const CORES = 4;
const PRIORITIES = [
  undefined,
  undefined,
  'system-cluster-critical',
  'system-node-critical',
] as const;
const POD = { group: '', resource: 'pods' };

function badRequests(random: SeededRandom, clock: VirtualClock): Fault {
  return async (request, send) => {
    switch (random.int(14)) {
      case 0:
        throw apierrors.serviceUnavailable('connection refused');
      case 1:
        throw apierrors.tooManyRequests('later', 1);
      case 2:
        await send();
        throw apierrors.timeoutError('the answer was lost');
      case 3:
        await send();
        throw apierrors.internalError('the connection broke');
      case 4:
        // A conflict from a lagging server: nothing was written.
        if (request.path.endsWith('/binding')) throw apierrors.conflict(POD, 'p', 'try again');
        return await send();
      case 5:
        await clock.sleep(random.int(3000), request.signal);
        return await send();
      default:
        return await send();
    }
  };
}

function badWatches(random: SeededRandom, clock: VirtualClock, calm: () => boolean): WatchFault {
  return (stream) => {
    const slow = new WatchQueue<WatchEvent<unknown>>({ onStop: () => stream.stop() });
    const pass = async (): Promise<void> => {
      for await (const event of stream) {
        const what = calm() ? Number.POSITIVE_INFINITY : random.int(20);
        if (what === 0) {
          // Later events are missed: the client has to watch again from its version.
          stream.stop();
          break;
        }
        if (what === 1) {
          // The version has expired, too: the client has to list.
          slow.push({
            type: 'ERROR',
            object: apierrors.toStatus(apierrors.resourceExpired('too old resource version')),
          });
          break;
        }
        if (what < 6) await clock.sleep(random.int(2000));
        slow.push(event);
      }
      slow.close();
    };
    void pass().catch((error: unknown) => slow.fail(error));
    return slow;
  };
}

function coresOf(pod: Immutable<Pod>): number {
  return Number(pod.spec.containers[0]?.resources.requests?.['cpu']);
}

class Model {
  readonly #cluster: TestCluster;
  readonly #random: SeededRandom;
  #scheduler: RunningScheduler;
  #calm = false;
  #pods = 0;
  #nodes = 0;
  readonly #nodeOf = new Map<string, string>();

  constructor(cluster: TestCluster, random: SeededRandom) {
    this.#cluster = cluster;
    this.#random = random;
    this.#scheduler = this.#start();
  }

  #start(): RunningScheduler {
    const [random, { clock }] = [this.#random.derive(`faults ${this.#pods}`), this.#cluster];
    return this.#cluster.startScheduler(
      {},
      badRequests(random, clock),
      badWatches(random, clock, () => this.#calm),
    );
  }

  async #all(): Promise<readonly Immutable<Pod>[]> {
    return (await this.#cluster.client.resource(pods).namespace('default').list()).items;
  }

  async addNode(): Promise<void> {
    const allocatable = { cpu: String(CORES), memory: '32Gi', pods: '110' };
    await this.#cluster.addNode(`n${this.#nodes++}`, { allocatable });
  }

  async step(): Promise<void> {
    const [cluster, random] = [this.#cluster, this.#random];
    const inDefault = cluster.client.resource(pods).namespace('default');
    const allNodes = cluster.client.resource(nodes);
    const some = <T>(items: readonly T[]): T | undefined =>
      items[random.int(Math.max(items.length, 1))];
    switch (random.int(12)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const priorityClassName = some(PRIORITIES);
        const name = `p${this.#pods++}`;
        const gates = random.int(6) === 0 ? { schedulingGates: [{ name: 'wait' }] } : {};
        const more = { ...gates, ...(priorityClassName !== undefined && { priorityClassName }) };
        await cluster.addPod(name, { cpu: String(1 + random.int(3)) }, more);
        break;
      }
      case 4: {
        const pod = some(await this.#all());
        if (pod !== undefined) await inDefault.delete(pod.metadata.name);
        break;
      }
      case 5: {
        const gated = some(
          (await this.#all()).filter(({ spec }) => (spec.schedulingGates ?? []).length > 0),
        );
        const open = { spec: { schedulingGates: null } };
        if (gated !== undefined)
          await inDefault.patch(gated.metadata.name, 'application/merge-patch+json', open);
        break;
      }
      case 6:
        if (this.#nodes < 8) await this.addNode();
        break;
      case 7: {
        const node = some((await allNodes.list()).items);
        if (node === undefined) break;
        const unschedulable = node.spec.unschedulable !== true && random.int(2) === 0;
        await allNodes.patch(node.metadata.name, 'application/merge-patch+json', {
          spec: { unschedulable },
        });
        break;
      }
      case 8: {
        // Deletes the node with its pods, as the pod garbage collector would do later.
        const node = some((await allNodes.list()).items);
        if (node === undefined || random.int(3) > 0) break;
        await allNodes.delete(node.metadata.name);
        const there = (await this.#all()).filter(
          ({ spec }) => spec.nodeName === node.metadata.name,
        );
        for (const { metadata } of there)
          await inDefault.delete(metadata.name, { gracePeriodSeconds: 0 });
        break;
      }
      case 9:
        if (random.int(2) > 0) break;
        this.#scheduler.crash();
        this.#scheduler = this.#start();
        break;
      default:
        await cluster.clock.advance(random.int(3000));
    }
    await this.kubelets();
    await this.check();
  }

  /** Ends the pods that are being deleted. */
  async kubelets(): Promise<void> {
    const inDefault = this.#cluster.client.resource(pods).namespace('default');
    for (const { metadata } of await this.#all()) {
      if (metadata.deletionTimestamp !== undefined)
        await inDefault.delete(metadata.name, { gracePeriodSeconds: 0 });
    }
  }

  async check(): Promise<readonly Immutable<Pod>[]> {
    const all = await this.#all();
    const used = new Map<string, number>();
    for (const pod of all) {
      const { nodeName } = pod.spec;
      if (nodeName === undefined) continue;
      expect(this.#nodeOf.get(pod.metadata.uid) ?? nodeName, `${pod.metadata.name} has moved`).toBe(
        nodeName,
      );
      this.#nodeOf.set(pod.metadata.uid, nodeName);
      used.set(nodeName, (used.get(nodeName) ?? 0) + coresOf(pod));
      expect(pod.spec.schedulingGates ?? []).toEqual([]);
    }
    for (const [node, cores] of used) expect(cores, `on ${node}`).toBeLessThanOrEqual(CORES);
    return all;
  }

  /**
   * Lets time pass without faults, for less than the time after which pods are retried in any case.
   */
  async settle(): Promise<void> {
    this.#scheduler.setFault(undefined);
    this.#calm = true;
    for (let i = 0; i < 6; i++) {
      await this.#cluster.clock.advance('20s');
      await this.kubelets();
      await this.check();
    }
  }

  /** Checks that waiting pods fit nowhere. */
  async finished(): Promise<void> {
    const all = await this.check();
    const open = (await this.#cluster.client.resource(nodes).list()).items.filter(
      ({ spec }) => spec.unschedulable !== true,
    );
    const waiting = all.filter(
      ({ spec }) => spec.nodeName === undefined && (spec.schedulingGates ?? []).length === 0,
    );
    for (const pod of waiting) {
      for (const { metadata } of open) {
        const inTheWay = all.filter(
          ({ spec }) =>
            spec.nodeName === metadata.name && (spec.priority ?? 0) >= (pod.spec.priority ?? 0),
        );
        const room = inTheWay.reduce((left, other) => left - coresOf(other), CORES);
        expect(room, `${pod.metadata.name} on ${metadata.name}`).toBeLessThan(coresOf(pod));
      }
    }
    expect(this.#scheduler.logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect(this.#nodeOf.size).toBeGreaterThan(2);
  }
}

describe('the scheduler, with random events and faults', () => {
  test.each(Array.from({ length: SEEDS }, (_, i) => i))(
    'binds once what fits, and fills no node too far (seed %i)',
    async (seed) => {
      const random = new SeededRandom(`model ${seed}`);
      const cluster = await startTestCluster();
      const model = new Model(cluster, random);
      await model.addNode();
      await model.addNode();
      for (let i = 0; i < STEPS; i++) await model.step();
      await model.settle();
      await model.finished();
      await cluster.stop();
    },
  );
});
