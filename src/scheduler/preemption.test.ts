// Preemption with an API server: victims, events and conditions, and the pod gets the freed
// resources.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nodes, pods, type PodSpec } from '#api/groups/core/v1/index.ts';
import { podDisruptionBudgets } from '#api/groups/policy/v1/index.ts';
import type { TransportRequest } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { startTestCluster, type TestCluster } from './testing/cluster.ts';

/** Priority 2,000,000,000 and 2,000,001,000. */
const critical: Partial<PodSpec> = { priorityClassName: 'system-cluster-critical' };
const vital: Partial<PodSpec> = { priorityClassName: 'system-node-critical' };
const small = { allocatable: { cpu: '2', memory: '4Gi', pods: '10' } };

const isDeletion = (request: TransportRequest): boolean => request.method === 'DELETE';

describe('preemption', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
  });
  afterEach(async () => {
    await cluster.stop();
  });

  const inDefault = () => cluster.client.resource(pods).namespace('default');
  const names = async (): Promise<string[]> =>
    (await inDefault().list()).items.map((pod) => pod.metadata.name ?? '').sort();
  /** Ends a pod that is being deleted, as a kubelet does. */
  const end = (name: string) => inDefault().delete(name, { gracePeriodSeconds: 0 });

  test('evicts a less important pod, records the reason, and gives its resources to the pod', async () => {
    await cluster.addNode('n', small);
    const { logger } = cluster.startScheduler();
    await cluster.addPod('low', { cpu: '2' });
    await cluster.untilBound('low');
    const high = await cluster.addPod('high', { cpu: '2' }, critical);
    await cluster.clock.advance('5s');
    // The victim has thirty seconds to end; until then, the pod is nominated to the node.
    const low = await inDefault().get('low');
    expect(low.metadata.deletionTimestamp).toBeDefined();
    expect(low.status.conditions?.find(({ type }) => type === 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: 'default-scheduler: preempting to accommodate a higher priority pod',
    });
    expect((await inDefault().get('high')).status.nominatedNodeName).toBe('n');
    expect(await cluster.condition('high')).toMatchObject({
      reason: 'Unschedulable',
      message: '0/1 nodes are available: 1 Insufficient cpu.',
    });
    await end('low');
    await cluster.untilBound('high');
    await cluster.clock.advance('1s');
    expect(await cluster.eventsOf('low')).toContainEqual(
      expect.objectContaining({
        type: 'Normal',
        reason: 'Preempted',
        message: `Preempted by pod ${high.metadata.uid} on node n`,
      }),
    );
    expect(logger.problems).toEqual([]);
  });

  test('evicts no more pods than needed, and the least important ones', async () => {
    await cluster.addNode('n1', small);
    await cluster.addNode('n2', small);
    cluster.startScheduler();
    for (const node of ['n1', 'n2']) {
      const selected = { nodeSelector: { 'kubernetes.io/hostname': node } };
      await cluster.addPod(
        `${node}-a`,
        { cpu: '1' },
        { ...selected, ...(node === 'n1' ? critical : {}) },
      );
      await cluster.addPod(`${node}-b`, { cpu: '1' }, selected);
    }
    await cluster.untilBound('n1-a', 'n1-b', 'n2-a', 'n2-b');
    await cluster.addPod('two', { cpu: '2' }, vital);
    await cluster.clock.advance('5s');
    const going = async (): Promise<string[]> =>
      (await inDefault().list()).items
        .filter((pod) => pod.metadata.deletionTimestamp)
        .map((pod) => pod.metadata.name ?? '');
    // Two unimportant pods are preferred to one unimportant and a critical one.
    expect((await going()).sort()).toEqual(['n2-a', 'n2-b']);
    await end('n2-a');
    await end('n2-b');
    await cluster.untilBound('two');
    expect(await cluster.nodeOf('two')).toBe('n2');
    // One pod is enough here, and there is a less important one.
    await cluster.addPod('one', { cpu: '1' }, critical);
    await cluster.clock.advance('5s');
    expect(await going()).toEqual(['n1-b']);
  });

  test('spares pods whose disruption budget does not allow an eviction, if other victims exist', async () => {
    await cluster.addNode('n1', small);
    await cluster.addNode('n2', small);
    cluster.startScheduler();
    for (const node of ['n1', 'n2']) {
      // A budget protects the less important pod.
      const selected = { nodeSelector: { 'kubernetes.io/hostname': node } };
      await cluster.addPod(
        node,
        { cpu: '2' },
        { ...selected, ...(node === 'n1' ? {} : critical) },
        { on: node },
      );
    }
    await cluster.untilBound('n1', 'n2');
    const budgets = cluster.client.resource(podDisruptionBudgets).namespace('default');
    const budget = await budgets.create({
      metadata: { name: 'b' },
      spec: { selector: { matchLabels: { on: 'n1' } }, maxUnavailable: 0 },
    });
    const status = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
    await budgets.updateStatus({ ...budget, status });
    await cluster.clock.advance('1s');
    await cluster.addPod('high', { cpu: '2' }, vital);
    await cluster.clock.advance('5s');
    expect((await inDefault().get('n2')).metadata.deletionTimestamp).toBeDefined();
    expect((await inDefault().get('n1')).metadata.deletionTimestamp).toBeUndefined();
  });

  test('keeps the room on the nominated node from pods of lower priority, and preempts only once', async () => {
    await cluster.addNode('n', small);
    const { requests } = cluster.startScheduler();
    await cluster.addPod('a', { cpu: '1' });
    await cluster.addPod('b', { cpu: '1' });
    await cluster.untilBound('a', 'b');
    await cluster.addPod('high', { cpu: '2' }, critical);
    await cluster.clock.advance('5s');
    await end('a');
    await cluster.addPod('late', { cpu: '1' });
    await cluster.clock.advance('10s');
    expect(await cluster.nodeOf('late')).toBeUndefined();
    expect(await cluster.condition('high')).toMatchObject({
      message:
        '0/1 nodes are available: 1 Insufficient cpu. ' +
        'no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node.',
    });
    await end('b');
    await cluster.untilBound('high');
    expect(requests.filter((request) => request.startsWith('DELETE'))).toHaveLength(2);
  });

  test('evicts nothing if the pod must not preempt, or if preemption would not help', async () => {
    await cluster.addNode('n', small);
    cluster.startScheduler();
    await cluster.addPod('peer', { cpu: '2' }, critical);
    await cluster.untilBound('peer');
    await cluster.addPod('same', { cpu: '2' }, critical);
    await cluster.addPod('huge', { cpu: '3' }, vital);
    await cluster.clock.advance('5s');
    expect(await cluster.condition('same')).toMatchObject({
      message:
        '0/1 nodes are available: 1 Insufficient cpu. ' +
        'no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption ' +
        'victims found for incoming pod.',
    });
    expect(await cluster.condition('huge')).toMatchObject({
      message:
        '0/1 nodes are available: 1 Insufficient cpu. ' +
        'no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    });
    expect((await inDefault().get('peer')).metadata.deletionTimestamp).toBeUndefined();
  });

  test('resolves the anti-affinity of another pod, and a skew', async () => {
    const zone = 'topology.kubernetes.io/zone';
    await cluster.addNode('n1', { labels: { [zone]: 'z1' } });
    await cluster.addNode('n2', {
      labels: { [zone]: 'z2' },
      allocatable: { cpu: '1', memory: '1Gi', pods: '0' },
    });
    cluster.startScheduler();
    const labelSelector = { matchLabels: { app: 'web' } };
    const term = { topologyKey: zone, labelSelector };
    await cluster.addPod('hermit', undefined, {
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    });
    await cluster.untilBound('hermit');
    const even = [
      { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: 'DoNotSchedule' as const, labelSelector },
    ];
    await cluster.addPod(
      'web',
      undefined,
      { ...critical, topologySpreadConstraints: even },
      { app: 'web' },
    );
    await cluster.clock.advance('5s');
    await end('hermit');
    await cluster.untilBound('web');
    // A second pod would exceed the skew in this zone: only the place of the first one is possible.
    await cluster.addPod(
      'web2',
      undefined,
      { ...vital, topologySpreadConstraints: even },
      { app: 'web' },
    );
    await cluster.clock.advance('5s');
    expect((await inDefault().get('web')).metadata.deletionTimestamp).toBeDefined();
    await end('web');
    await cluster.untilBound('web2');
  });

  test('retries when victims cannot be deleted', async () => {
    await cluster.addNode('n', small);
    let failures = 2;
    const { logger } = cluster.startScheduler({}, (request, send) => {
      if (isDeletion(request) && failures-- > 0) throw apierrors.internalError('disk on fire');
      return send();
    });
    await cluster.addPod('low', { cpu: '2' });
    await cluster.untilBound('low');
    await cluster.addPod('high', { cpu: '2' }, critical);
    await cluster.clock.advance('20s');
    expect((await inDefault().get('low')).metadata.deletionTimestamp).toBeDefined();
    expect(logger.problems).toContain('preemption failed');
    await end('low');
    await cluster.untilBound('high');
    expect(await names()).toEqual(['high']);
  });

  test('a pod chooses another node when its nominated node is given to a pod of higher priority', async () => {
    await cluster.addNode('n', small);
    cluster.startScheduler();
    await cluster.addPod('low', { cpu: '2' });
    await cluster.untilBound('low');
    await cluster.addPod('high', { cpu: '2' }, critical);
    await cluster.clock.advance('5s');
    await cluster.addPod('highest', { cpu: '2' }, vital);
    await cluster.clock.advance('5s');
    expect((await inDefault().get('high')).status.nominatedNodeName).toBeUndefined();
    expect((await inDefault().get('highest')).status.nominatedNodeName).toBe('n');
    await end('low');
    await cluster.untilBound('highest');
    expect(await cluster.nodeOf('high')).toBeUndefined();
  });

  test('releases the room on the nominated node if the pod is bound elsewhere', async () => {
    const disk = (value: string) => ({ labels: { disk: value } });
    await cluster.addNode('n', { ...small, ...disk('a') });
    cluster.startScheduler({ popFromBackoff: false });
    for (const name of ['low1', 'low2']) {
      await cluster.addPod(name, { cpu: '1' });
      await cluster.untilBound(name);
    }
    await cluster.addPod('high', { cpu: '2' }, { ...critical, nodeSelector: { disk: 'a' } });
    await cluster.clock.advance('5s');
    // The pod was retried after the first victim's end, in vain; so it has to back off after the
    // second.
    await end('low1');
    await cluster.clock.advance('100ms');
    await end('low2');
    await cluster.addPod(
      'waits',
      { cpu: '2' },
      { nodeSelector: { 'kubernetes.io/hostname': 'n' } },
    );
    await cluster.clock.advance('100ms');
    expect(await cluster.nodeOf('high')).toBeUndefined();
    expect(await cluster.nodeOf('waits')).toBeUndefined();
    await cluster.client
      .resource(nodes)
      .patch('n', 'application/merge-patch+json', { metadata: { labels: { disk: 'b' } } });
    await cluster.addNode('m', { ...small, ...disk('a') });
    await cluster.clock.advance('10s');
    expect(await cluster.nodeOf('high')).toBe('m');
    await cluster.clock.advance('10s');
    expect(await cluster.nodeOf('waits')).toBe('n');
  });
});
