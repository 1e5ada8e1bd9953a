// Inter-pod affinity and topology spread with an API server: messages of pods, and the changes that
// requeue them.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  namespaces,
  nodes,
  type PodAffinityTerm,
  pods,
  type PodSpec,
  serviceAccounts,
  services,
} from '#api/groups/core/v1/index.ts';
import { replicaSets } from '#api/groups/apps/v1/index.ts';
import { startTestCluster, type TestCluster } from './testing/cluster.ts';

const HOST = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';
const required = 'requiredDuringSchedulingIgnoredDuringExecution';

function term(
  labels: Record<string, string>,
  topologyKey = HOST,
  more: Partial<PodAffinityTerm> = {},
): PodAffinityTerm {
  return { topologyKey, labelSelector: { matchLabels: labels }, ...more };
}
const near = (...terms: PodAffinityTerm[]): Partial<PodSpec> => ({
  affinity: { podAffinity: { [required]: terms } },
});
const apart = (...terms: PodAffinityTerm[]): Partial<PodSpec> => ({
  affinity: { podAntiAffinity: { [required]: terms } },
});
const spread = (
  topologyKey: string,
  whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway',
  more = {},
): Partial<PodSpec> => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable,
      labelSelector: { matchLabels: { app: 'web' } },
      ...more,
    },
  ],
});
const web = { app: 'web' };

describe('pods that look at other pods', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
  });
  afterEach(async () => {
    await cluster.stop();
  });

  const inDefault = () => cluster.client.resource(pods).namespace('default');
  const remove = (name: string) => inDefault().delete(name, { gracePeriodSeconds: 0 });
  const nodesOf = (...names: string[]) => Promise.all(names.map((name) => cluster.nodeOf(name)));

  test('keeps pods apart, reports it, and schedules the next one when one is deleted or a node is added', async () => {
    await cluster.addNode('n1');
    await cluster.addNode('n2');
    cluster.startScheduler();
    for (const name of ['a', 'b', 'c'])
      await cluster.addPod(name, undefined, apart(term(web)), web);
    await cluster.clock.advance('10s');
    const bound = (await nodesOf('a', 'b', 'c')).filter(Boolean);
    expect(bound.sort()).toEqual(['n1', 'n2']);
    expect(await cluster.condition('c')).toMatchObject({
      reason: 'Unschedulable',
      message:
        "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. " +
        'no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption ' +
        'victims found for incoming pod.',
    });
    await remove('a');
    await cluster.untilBound('b', 'c');
    await cluster.addPod('d', undefined, apart(term(web)), web);
    await cluster.clock.advance('10s');
    expect(await cluster.nodeOf('d')).toBeUndefined();
    await cluster.addNode('n3');
    await cluster.untilBound('d');
    expect(await cluster.nodeOf('d')).toBe('n3');
  });

  test('respects terms of existing pods', async () => {
    await cluster.addNode('n1', { labels: { [ZONE]: 'z1' } });
    cluster.startScheduler();
    await cluster.addPod('hermit', undefined, apart(term(web, ZONE)));
    await cluster.untilBound('hermit');
    await cluster.addPod('p', undefined, {}, web);
    await cluster.clock.advance('10s');
    expect(await cluster.condition('p')).toMatchObject({
      message:
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules. " +
        'no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption ' +
        'victims found for incoming pod.',
    });
    await cluster.addPod('other', undefined, {}, { app: 'db' });
    await cluster.untilBound('other');
    await remove('hermit');
    await cluster.untilBound('p');
  });

  test('puts a pod near the pod that it requires, once there is one', async () => {
    await cluster.addNode('n1', { labels: { [ZONE]: 'z1' } });
    await cluster.addNode('n2', { labels: { [ZONE]: 'z2' } });
    cluster.startScheduler();
    await cluster.addPod('p', undefined, near(term({ app: 'db' }, ZONE)));
    await cluster.clock.advance('10s');
    expect(await cluster.condition('p')).toMatchObject({
      message:
        "0/2 nodes are available: 2 node(s) didn't match pod affinity rules. " +
        'no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
    });
    await cluster.addPod('db', undefined, { nodeSelector: { [ZONE]: 'z2' } }, { app: 'db' });
    await cluster.untilBound('p');
    expect(await cluster.nodeOf('p')).toBe('n2');
  });

  test('schedules the first pod of a group with affinity to itself, and the others near it', async () => {
    for (const name of ['n1', 'n2', 'n3']) await cluster.addNode(name);
    cluster.startScheduler();
    for (const name of ['a', 'b', 'c']) await cluster.addPod(name, undefined, near(term(web)), web);
    await cluster.untilBound('a', 'b', 'c');
    expect(new Set(await nodesOf('a', 'b', 'c')).size).toBe(1);
  });

  test('matches namespaces by labels, and reacts to changes of the labels', async () => {
    await cluster.addNode('n1');
    const spaces = cluster.client.resource(namespaces);
    await spaces.create({ metadata: { name: 'far' } });
    const inFar = cluster.client.resource(pods).namespace('far');
    cluster.startScheduler();
    const containers = [{ name: 'c', image: 'image:1' }];
    await cluster.client
      .resource(serviceAccounts)
      .namespace('far')
      .create({ metadata: { name: 'default' } });
    await inFar.create({ metadata: { name: 'db', labels: { app: 'db' } }, spec: { containers } });
    await cluster.addPod(
      'p',
      undefined,
      near(term({ app: 'db' }, HOST, { namespaceSelector: { matchLabels: { team: 'data' } } })),
    );
    await cluster.clock.advance('10s');
    expect((await inFar.get('db')).spec.nodeName).toBe('n1');
    expect(await cluster.nodeOf('p')).toBeUndefined();
    await spaces.patch('far', 'application/merge-patch+json', {
      metadata: { labels: { team: 'data' } },
    });
    await cluster.clock.advance('20s');
    expect(await cluster.nodeOf('p')).toBe('n1');
  });

  test('keeps only pods with the same value of a matchLabelKey together', async () => {
    await cluster.addNode('n1', { labels: { [ZONE]: 'z1' } });
    await cluster.addNode('n2', { labels: { [ZONE]: 'z2' } });
    cluster.startScheduler();
    const rule = apart(term(web, ZONE, { matchLabelKeys: ['version'] }));
    for (const name of ['a', 'b'])
      await cluster.addPod(name, undefined, rule, { ...web, version: '1' });
    for (const name of ['c', 'd'])
      await cluster.addPod(name, undefined, rule, { ...web, version: '2' });
    await cluster.untilBound('a', 'b', 'c', 'd');
    const [a, b, c, d] = await nodesOf('a', 'b', 'c', 'd');
    expect([a, b].sort()).toEqual(['n1', 'n2']);
    expect([c, d].sort()).toEqual(['n1', 'n2']);
  });

  test('spreads pods over zones by its constraints, and reports when it cannot', async () => {
    for (const [name, zone] of [
      ['n1', 'z1'],
      ['n2', 'z1'],
      ['n3', 'z2'],
    ] as const) {
      await cluster.addNode(name, { labels: { [ZONE]: zone } });
    }
    await cluster.addNode('nowhere');
    cluster.startScheduler();
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names)
      await cluster.addPod(name, undefined, spread(ZONE, 'DoNotSchedule'), web);
    await cluster.untilBound(...names);
    const zones = (await nodesOf(...names)).map((node) => (node === 'n3' ? 'z2' : 'z1'));
    expect(zones.sort()).toEqual(['z1', 'z1', 'z2', 'z2']);
    // Now one zone has no room: the other one must not exceed it by two.
    await cluster.client
      .resource(nodes)
      .patch('n3', 'application/merge-patch+json', { spec: { unschedulable: true } });
    await cluster.addPod('e', undefined, spread(ZONE, 'DoNotSchedule'), web);
    await cluster.untilBound('e');
    await cluster.addPod('f', undefined, spread(ZONE, 'DoNotSchedule'), web);
    await cluster.clock.advance('10s');
    expect(await cluster.condition('f')).toMatchObject({
      message:
        "0/4 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label), " +
        "1 node(s) were unschedulable, 2 node(s) didn't match pod topology spread constraints. " +
        'no new claims to deallocate, preemption: 0/4 nodes are available: 2 No preemption ' +
        'victims found for incoming pod, ' +
        '2 Preemption is not helpful for scheduling.',
    });
    await cluster.client
      .resource(nodes)
      .patch('n3', 'application/merge-patch+json', { spec: { unschedulable: false } });
    await cluster.untilBound('f');
    expect(await cluster.nodeOf('f')).toBe('n3');
  });

  test('waits for minDomains', async () => {
    await cluster.addNode('n1', { labels: { [ZONE]: 'z1' } });
    cluster.startScheduler();
    for (const name of ['a', 'b'])
      await cluster.addPod(name, undefined, spread(ZONE, 'DoNotSchedule', { minDomains: 2 }), web);
    await cluster.clock.advance('10s');
    expect((await nodesOf('a', 'b')).filter(Boolean)).toEqual(['n1']);
    await cluster.addNode('n2', { labels: { [ZONE]: 'z2' } });
    await cluster.untilBound('a', 'b');
  });

  test('uses the place of a pod that is being deleted', async () => {
    await cluster.addNode('n1', { labels: { [ZONE]: 'z1' } });
    await cluster.addNode('full', {
      labels: { [ZONE]: 'z2' },
      allocatable: { cpu: '1', memory: '1Gi', pods: '0' },
    });
    cluster.startScheduler();
    for (const name of ['a', 'b'])
      await cluster.addPod(name, undefined, spread(ZONE, 'DoNotSchedule'), web);
    await cluster.clock.advance('10s');
    expect((await nodesOf('a', 'b')).filter(Boolean)).toEqual(['n1']);
    const first = (await cluster.nodeOf('a')) === undefined ? 'b' : 'a';
    // The pod still exists: its containers have thirty seconds to end.
    await inDefault().delete(first, { gracePeriodSeconds: 30 });
    await cluster.untilBound('a', 'b');
    expect((await inDefault().get(first)).metadata.deletionTimestamp).toBeDefined();
  });

  test('spreads the pods of a service over zones and hosts by default', async () => {
    // The images make the first node better by all other criteria.
    await cluster.addNode('n1', { labels: { [ZONE]: 'z1' } });
    await cluster.addNode('n2', { labels: { [ZONE]: 'z1' } });
    await cluster.addNode('n3', { labels: { [ZONE]: 'z2' } });
    await cluster.client
      .resource(services)
      .namespace('default')
      .create({ metadata: { name: 'web' }, spec: { selector: web, ports: [{ port: 80 }] } });
    const only = {
      NodeResourcesFit: true,
      NodeResourcesBalancedAllocation: true,
      ImageLocality: true,
    };
    const disabled = Object.keys(only).map((name) => ({ name }));
    cluster.startScheduler({
      configuration: {
        apiVersion: 'kubescheduler.config.k8s.io/v1',
        kind: 'KubeSchedulerConfiguration',
        profiles: [{ plugins: { score: { disabled } } }],
      },
    });
    for (const name of ['a', 'b', 'c', 'd']) {
      await cluster.addPod(name, undefined, {}, web);
      await cluster.untilBound(name);
    }
    const [a, b, c] = await nodesOf('a', 'b', 'c');
    // The second is in the zone without a pod; the third is not on the host that has one of two.
    expect(a === 'n3').not.toBe(b === 'n3');
    expect(new Set([a, b, c]).size).toBe(3);
  });

  test('spreads the pods of a replica set by the profile’s default constraints', async () => {
    await cluster.addNode('n1');
    await cluster.addNode('n2');
    const set = await cluster.client
      .resource(replicaSets)
      .namespace('default')
      .create({
        metadata: { name: 'web' },
        spec: {
          selector: { matchLabels: web },
          template: {
            metadata: { labels: web },
            spec: { containers: [{ name: 'c', image: 'image:1' }] },
          },
        },
      });
    const defaultConstraints = [
      { maxSkew: 1, topologyKey: HOST, whenUnsatisfiable: 'DoNotSchedule' },
    ];
    const args = { defaultingType: 'List', defaultConstraints };
    // Stateful sets are listed as well, which this API server does not serve: such constraints wait
    // for them.
    const scheduler = cluster.startScheduler(
      {
        configuration: {
          apiVersion: 'kubescheduler.config.k8s.io/v1',
          kind: 'KubeSchedulerConfiguration',
          profiles: [{ pluginConfig: [{ name: 'PodTopologySpread', args }] }],
        },
      },
      async (request, send) => {
        if (!request.path.endsWith('/statefulsets')) return await send();
        return { metadata: { resourceVersion: '1' }, items: [] };
      },
    );
    const { uid } = set.metadata;
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid, controller: true };
    for (const name of ['a', 'b']) {
      const containers = [{ name: 'c', image: 'image:1' }];
      await inDefault().create({
        metadata: { name, labels: web, ownerReferences: [owner] },
        spec: { containers },
      });
    }
    await cluster.untilBound('a', 'b');
    expect((await nodesOf('a', 'b')).sort()).toEqual(['n1', 'n2']);
    expect(scheduler.requests).toContain('GET /apis/apps/v1/statefulsets');
  });
});
