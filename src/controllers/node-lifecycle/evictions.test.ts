// Evictions are decided from the state of all zones, not of one node. These tests read every write
// of a node from a watch, and compare each NoExecute taint with the state of the cluster at the
// moment of that write.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { type Node, nodes, pods, type Toleration } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatMicroTime, formatTime } from '#machinery/text/time.ts';
import { SeededRandom } from '#machinery/random.ts';
import { TaintEvictionController } from '../taint-eviction/index.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { NodeLifecycleController } from './index.ts';

type ReadNode = Immutable<Node>;

let cluster: TestCluster;
let fleet: Fleet;
beforeEach(async () => {
  cluster = await startTestCluster();
  fleet = new Fleet(cluster);
  await cluster.run((config) => new NodeLifecycleController(config));
  await cluster.run((config) => new TaintEvictionController(config));
});
afterEach(() => cluster.stop());

/** A report of a kubelet: its Ready condition, or nothing at all. */
type Report = 'True' | 'False' | 'silent';

/** The nodes of a test and what their kubelets do. */
class Fleet {
  readonly #cluster: TestCluster;
  readonly #reports = new Map<string, Report>();
  constructor(cluster: TestCluster) {
    this.#cluster = cluster;
  }

  /** Creates a node, and a pod on it without tolerations for NoExecute taints. */
  async add(
    name: string,
    zone: string,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const { client } = this.#cluster;
    const zoneLabels = zone === '' ? {} : { 'topology.kubernetes.io/zone': zone };
    await client
      .resource(nodes)
      .create({ metadata: { name, labels: { ...zoneLabels, ...labels } } });
    const spec = { holderIdentity: name, leaseDurationSeconds: 40 };
    await client.resource(leases).namespace('kube-node-lease').create({ metadata: { name }, spec });
    // The admission plugin DefaultTolerationSeconds would keep the pod for five minutes.
    const tolerations: Toleration[] = ['not-ready', 'unreachable'].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 0,
    }));
    await client
      .resource(pods)
      .namespace('default')
      .create({
        metadata: { name: `on-${name}`, finalizers: ['example.com/keep'] },
        spec: { nodeName: name, tolerations, containers: [{ name: 'c', image: 'i' }] },
      });
  }

  async report(name: string, report: Report): Promise<void> {
    const { client, clock } = this.#cluster;
    this.#reports.set(name, report);
    if (report === 'silent') return;
    const now = formatTime(clock.now());
    const condition = {
      type: 'Ready',
      status: report,
      reason: 'r',
      message: 'm',
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    };
    const patch = { status: { conditions: [condition] } };
    await client
      .resource(nodes)
      .patch(name, 'application/strategic-merge-patch+json', patch, { subresource: 'status' });
    await this.#renew(name);
  }

  /** Lets time pass. All kubelets that are not silent renew their leases. */
  async pass(seconds: number): Promise<void> {
    for (let left = seconds; left > 0; left -= 10) {
      for (const [name, report] of this.#reports) if (report !== 'silent') await this.#renew(name);
      await this.#cluster.clock.advance(Math.min(left, 10) * 1000);
    }
  }

  async #renew(name: string): Promise<void> {
    const inLeases = this.#cluster.client.resource(leases).namespace('kube-node-lease');
    const spec = { renewTime: formatMicroTime(this.#cluster.clock.now()) };
    await inLeases.patch(name, 'application/merge-patch+json', { spec });
  }

  async noExecute(): Promise<readonly string[]> {
    const { items } = await this.#cluster.client.resource(nodes).list();
    return items.filter(hasNoExecute).map(({ metadata }) => metadata.name);
  }

  async deletedPods(): Promise<readonly string[]> {
    const { items } = await this.#cluster.client.resource(pods).namespace('default').list();
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map(({ metadata }) => metadata.name);
  }
}

const hasNoExecute = ({ spec }: ReadNode): boolean =>
  spec.taints?.some(({ effect }) => effect === 'NoExecute') ?? false;
const readyOf = ({ status }: ReadNode): string | undefined =>
  status.conditions?.find(({ type }) => type === 'Ready')?.status;
const zoneName = ({ metadata }: ReadNode): string =>
  metadata.labels?.['topology.kubernetes.io/zone'] ?? '';

describe('nodes that never reported', () => {
  test('have no taint during the startup grace period, and NoSchedule alone after it if no node is ready', async () => {
    await fleet.add('only', '');
    await fleet.pass(55);
    expect((await cluster.client.resource(nodes).get('only')).spec.taints).toBeUndefined();
    await fleet.pass(60);
    expect((await cluster.client.resource(nodes).get('only')).spec.taints).toEqual([
      { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
    ]);
    expect(await fleet.deletedPods()).toEqual([]);
  });

  test('are evicted after the startup grace period if others are ready', async () => {
    await fleet.add('up', '');
    await fleet.report('up', 'True');
    await fleet.add('new', '');
    await fleet.pass(55);
    expect(await fleet.noExecute()).toEqual([]);
    await fleet.pass(15);
    expect(await fleet.noExecute()).toEqual(['new']);
  });
});

// A letter per node: R ready, N reports not ready, S silent. Zones are separated by spaces; the
// second column is the state after a change. `evicts`: positions of the nodes (in the order of the
// letters) that have a NoExecute taint five minutes after the change.
describe('the state of all zones decides', () => {
  test.each<[what: string, before: string, after: string, evicts: readonly number[]]>([
    ['one of two nodes', 'RR', 'RS', [1]],
    ['one of two nodes reports not ready', 'RR', 'RN', [1]],
    ['two of three: no more than two failures are no disruption', 'RRR', 'RSS', [1, 2]],
    ['three of four: a partial disruption of a small zone', 'RRRR', 'RSSS', []],
    ['the only node goes silent', 'R', 'S', []],
    ['the only node reports not ready', 'R', 'N', []],
    ['all nodes of the only zone go silent', 'RRR', 'SSS', []],
    ['all nodes of the only zone report not ready', 'RRR', 'NNN', []],
    ['all nodes of all zones', 'RR RR', 'SS SS', []],
    [
      'one zone is disrupted fully, the other works: the normal rate',
      'RRRR R',
      'SSSS R',
      [0, 1, 2, 3],
    ],
    ['one zone is disrupted partially, the other works', 'RRRRR RRR', 'RSSSS RRS', [7]],
    ['a zone recovers from a disruption', 'SSS R', 'RRS R', [2]],
    ['all zones recover but one', 'SS SS', 'RR SS', [2, 3]],
    ['the last ready node fails after the others were evicted', 'RSS', 'SSS', []],
    ['the last ready node reports not ready after the others were evicted', 'RSS', 'NSS', []],
  ])('%s: %s -> %s', async (_, before, after, evicts) => {
    const reports: Readonly<Record<string, Report>> = { R: 'True', N: 'False', S: 'silent' };
    const letters = (text: string) =>
      text.split(' ').flatMap((zone, z) => [...zone].map((letter) => [letter, `z${z}`] as const));
    for (const [index, [, zone]] of letters(before).entries()) {
      await fleet.add(`n${index}`, zone);
      await fleet.report(`n${index}`, 'True');
    }
    const set = async (text: string): Promise<void> => {
      for (const [index, [letter]] of letters(text).entries())
        await fleet.report(`n${index}`, reports[letter]!);
    };
    await set(before);
    await fleet.pass(120);
    const evictedBefore = await fleet.deletedPods();
    const readyBefore = letters(before).flatMap(([letter], index) =>
      letter === 'R' ? [`on-n${index}`] : [],
    );
    expect(evictedBefore.filter((name) => readyBefore.includes(name))).toEqual([]);
    await set(after);
    // No write in between may have the taint either: it is compared with the pods that it would
    // have deleted.
    await fleet.pass(300);
    const expected = evicts.map((index) => `n${index}`);
    expect(await fleet.noExecute()).toEqual(expected);
    const deleted = await fleet.deletedPods();
    expect(
      deleted.filter((name) => !evictedBefore.includes(name) && !expected.includes(name.slice(3))),
    ).toEqual([]);
  });

  test('starts no eviction at once when a disruption ends', async () => {
    for (const name of ['a', 'b', 'c']) {
      await fleet.add(name, '');
      await fleet.report(name, 'True');
    }
    for (const name of ['a', 'b', 'c']) await fleet.report(name, 'silent');
    await fleet.pass(120);
    await fleet.report('a', 'True');
    await fleet.pass(5);
    expect(await fleet.noExecute()).toEqual([]);
    await fleet.pass(15);
    expect((await fleet.noExecute()).length).toBe(1);
    await fleet.pass(10);
    expect(await fleet.noExecute()).toEqual(['b', 'c']);
  });

  test('gives each node its whole grace period again when the last disruption ends', async () => {
    for (const name of ['a', 'b']) {
      await fleet.add(name, '');
      await fleet.report(name, 'False');
    }
    await fleet.pass(5);
    await fleet.report('b', 'silent');
    await fleet.pass(40);
    await fleet.report('a', 'True');
    await fleet.pass(45);
    expect(readyOf(await cluster.client.resource(nodes).get('b'))).toBe('False');
    await fleet.pass(15);
    expect(readyOf(await cluster.client.resource(nodes).get('b'))).toBe('Unknown');
  });

  test('leaves pods alone on a node whose kubelet reports that it is not ready', async () => {
    for (const name of ['a', 'b']) {
      await fleet.add(name, '');
      await fleet.report(name, 'True');
    }
    const inDefault = cluster.client.resource(pods).namespace('default');
    const condition = {
      type: 'Ready',
      status: 'True',
      lastTransitionTime: formatTime(cluster.clock.now()),
    };
    const patch = { status: { phase: 'Running', conditions: [condition] } };
    await inDefault.patch('on-a', 'application/strategic-merge-patch+json', patch, {
      subresource: 'status',
    });
    const ready = async () =>
      (await inDefault.get('on-a')).status.conditions?.find(({ type }) => type === 'Ready')?.status;
    await fleet.report('a', 'False');
    await fleet.pass(5);
    expect(await ready()).toBe('True');
    await fleet.report('a', 'silent');
    await fleet.pass(60);
    expect(await ready()).toBe('False');
  });
});

// The rules as they are documented, written without regard to how the controller works.
describe('nodes that fail and come back in random order', () => {
  test.each([1, 2, 3, 4])(
    'are evicted only as the state of the zones allows (seed %i)',
    async (seed) => {
      const random = new SeededRandom(seed);
      const pick = <T>(items: readonly T[]): T => items[Math.floor(random.float() * items.length)]!;
      const names: string[] = [];
      const wrong: string[] = [];
      const state = new Map<string, ReadNode>();
      const starts = new Map<string, number[]>();
      const tainted = new Set<string>();
      const stop = new AbortController();
      const watch = await cluster.client.resource(nodes).watch({ signal: stop.signal });
      const checks = (async () => {
        for await (const { type, object } of watch) {
          const before = state.get(object.metadata.name);
          if (type === 'DELETED') state.delete(object.metadata.name);
          else state.set(object.metadata.name, object);
          if (
            type === 'DELETED' ||
            !hasNoExecute(object) ||
            (before !== undefined && hasNoExecute(before))
          )
            continue;
          tainted.add(object.metadata.name);
          const problem = problemOf(object, [...state.values()]);
          if (problem !== undefined) wrong.push(`${object.metadata.name}: ${problem}`);
          const zone = zoneName(object);
          starts.set(zone, [...(starts.get(zone) ?? []), cluster.clock.monotonic()]);
        }
      })();
      const zones = pick([[''], ['a', 'b'], ['a', 'b', 'c']]);
      for (let round = 0; round < 40; round++) {
        if (names.length < 3 || (names.length < 9 && random.float() < 0.2)) {
          const name = `n${names.length}`;
          await fleet.add(name, pick(zones));
          names.push(name);
          if (random.float() < 0.7) await fleet.report(name, 'True');
        }
        // Sometimes one node changes, sometimes all of them do.
        const changing = random.float() < 0.15 ? names : [pick(names)];
        const report = pick<Report>(['True', 'True', 'False', 'silent', 'silent']);
        for (const name of changing) await fleet.report(name, report);
        await fleet.pass(pick([5, 10, 30, 60]));
      }
      // Finally one node is ready, and the others get time.
      await fleet.report(names[0]!, 'True');
      await fleet.pass(400);
      const all = (await cluster.client.resource(nodes).list()).items;
      for (const node of all) {
        const isNotReady = readyOf(node) === 'False' || readyOf(node) === 'Unknown';
        if (isNotReady && !hasNoExecute(node) && problemOf(node, all) === undefined)
          wrong.push(`${node.metadata.name} not evicted`);
        if (!isNotReady && hasNoExecute(node))
          wrong.push(`${node.metadata.name} evicted though ready`);
      }
      for (const [zone, times] of starts) {
        for (let i = 1; i < times.length; i++) {
          // The limiter releases a token every ten seconds, and the monitor pass runs every five.
          const gap = times[i]! - times[i - 1]!;
          if (gap < 5000) wrong.push(`zone ${zone}: two evictions within ${gap} ms`);
        }
      }
      stop.abort();
      await checks.catch(() => undefined);
      expect(wrong).toEqual([]);
      expect(starts.size).toBeGreaterThan(0);
      // Pods without tolerations are deleted exactly on the nodes that had the taint.
      expect(await fleet.deletedPods()).toEqual(
        [...tainted].toSorted().map((name) => `on-${name}`),
      );
    },
  );

  /** Returns why the node must not be evicted in this state of the cluster; undefined if it may. */
  function problemOf(node: ReadNode, all: readonly ReadNode[]): string | undefined {
    if (readyOf(node) === undefined) return 'its kubelet never reported';
    if (readyOf(node) === 'True') return 'it is ready';
    if (all.every((other) => readyOf(other) !== 'True')) return 'no node of the cluster is ready';
    const zone = all.filter((other) => zoneName(other) === zoneName(node));
    const down = zone.filter((other) => readyOf(other) !== 'True').length;
    if (down < zone.length && down > 2 && down / zone.length >= 0.55)
      return 'its small zone is disrupted partially';
    return undefined;
  }
});
