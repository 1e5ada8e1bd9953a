import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { replicaSets } from '#api/groups/apps/v1/index.ts';
import { configMaps, namespaces, nodes, pods } from '#api/groups/core/v1/index.ts';
import { SeededRandom } from '#machinery/random.ts';
import {
  CONTROLLER_NAMES,
  ControllerManager,
  type ControllerManagerConfig,
  ControllerManagerMetrics,
} from './index.ts';
import { startTestCluster, type TestCluster } from './testing/test-cluster.ts';

let cluster: TestCluster;
let stop: AbortController;
beforeEach(async () => {
  cluster = await startTestCluster();
  stop = new AbortController();
});
afterEach(() => cluster.stop());

const manager = (change: Partial<ControllerManagerConfig> = {}) => {
  const { client, clock, logger } = cluster;
  const needs = { rootCa: 'PEM', clusterCidrs: ['10.244.0.0/16'] };
  return new ControllerManager({
    client,
    clock,
    logger,
    random: new SeededRandom(2),
    ...needs,
    ...change,
  });
};
const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
};

describe('ControllerManager', () => {
  test('runs all controllers together, and stops without leaving anything behind', async () => {
    // A first write lets the server start its background work: watches of its store, expiry of
    // events.
    await cluster.client.resource(nodes).create({ metadata: { name: 'n0' } });
    const before = new AbortController();
    const first = manager().run(before.signal);
    await cluster.clock.settle();
    before.abort();
    await first;
    const timers = cluster.clock.pendingTimers;
    const running = manager().run(stop.signal);
    await cluster.client.resource(namespaces).create({ metadata: { name: 'x' } });
    await cluster.client.resource(nodes).create({ metadata: { name: 'n1' } });
    await cluster.clock.settle();
    const inX = cluster.client.resource(replicaSets).namespace('x');
    await inX.create({
      metadata: { name: 'web' },
      spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template },
    });
    await cluster.clock.settle();
    expect((await cluster.client.resource(nodes).get('n1')).spec.podCIDR).toBe('10.244.1.0/24');
    expect((await cluster.client.resource(configMaps).namespace('x').list()).items.length).toBe(1);
    expect((await cluster.client.resource(pods).namespace('x').list()).items.length).toBe(2);
    await inX.delete('web', { propagationPolicy: 'Foreground' });
    await cluster.clock.settle();
    expect((await inX.list()).items).toEqual([]);
    expect((await cluster.client.resource(pods).namespace('x').list()).items).toEqual([]);
    await cluster.client.resource(namespaces).delete('x');
    await cluster.clock.settle();
    const left = (await cluster.client.resource(namespaces).list()).items.map(
      ({ metadata }) => metadata.name,
    );
    expect(left).not.toContain('x');
    stop.abort();
    await running;
    await cluster.clock.settle();
    expect(cluster.clock.pendingTimers).toBe(timers);
    expect(
      cluster.logger.records.filter(({ level }) => level === 'error' || level === 'warn'),
    ).toEqual([]);
  });

  test('publishes metrics of its queues and of the running controllers', async () => {
    const metrics = new ControllerManagerMetrics({ clock: cluster.clock });
    const running = manager({
      metrics,
      controllers: ['serviceaccount-controller', 'replicaset-controller'],
    }).run(stop.signal);
    await cluster.client.resource(namespaces).create({ metadata: { name: 'x' } });
    await cluster.clock.settle();
    const text = metrics.text();
    expect(text).toContain(
      'running_managed_controllers{manager="kube-controller-manager",name="serviceaccount-controller"} 1\n',
    );
    expect(text).toContain(
      'running_managed_controllers{manager="kube-controller-manager",name="replicaset-controller"} 1\n',
    );
    expect(text).toContain('# TYPE workqueue_adds_total counter\n');
    const value = (sample: string) => Number(new RegExp(`^${sample} (.*)$`, 'm').exec(text)?.[1]);
    const adds = value('workqueue_adds_total{name="serviceaccount"}');
    expect(adds).toBeGreaterThanOrEqual(5);
    expect(value('workqueue_queue_duration_seconds_count{name="serviceaccount"}')).toBe(adds);
    expect(value('workqueue_work_duration_seconds_bucket{name="serviceaccount",le="\\+Inf"}')).toBe(
      adds,
    );
    expect(value('workqueue_depth{name="serviceaccount"}')).toBe(0);
    expect(value('workqueue_adds_total{name="replicaset"}')).toBe(0);
    stop.abort();
    await running;
    expect(metrics.text()).not.toContain('running_managed_controllers');
  });

  test('runs only the selected controllers, and only if their dependencies are there', async () => {
    const running = manager({ controllers: ['serviceaccount-controller'] }).run(stop.signal);
    await cluster.client.resource(replicaSets).create({
      metadata: { name: 'web', namespace: 'default' },
      spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
    });
    await cluster.clock.settle();
    expect((await cluster.client.resource(pods).namespace('default').list()).items).toEqual([]);
    stop.abort();
    await running;
    stop = new AbortController();
    const bare = manager({ rootCa: undefined, clusterCidrs: undefined }).run(stop.signal);
    await cluster.clock.settle();
    expect((await cluster.client.resource(configMaps).namespace('default').list()).items).toEqual(
      [],
    );
    stop.abort();
    await bare;
    expect(CONTROLLER_NAMES.length).toBe(new Set(CONTROLLER_NAMES).size);
  });

  test('rejects settings that cannot work', async () => {
    await expect(manager({ clusterCidrs: ['nonsense'] }).run(stop.signal)).rejects.toThrow(
      'no range of IP addresses',
    );
  });
});
