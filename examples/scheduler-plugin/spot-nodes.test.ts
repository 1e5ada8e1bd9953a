import { nodes, pods } from 'coxswain/api/core/v1';
import { withCluster } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { configuration, spotNodes } from './spot-nodes.ts';

const pod = (name: string, annotations: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, annotations },
  spec: { containers: [{ name: 'c', image: 'busybox' }] },
});

const options = {
  nodes: 2,
  clock: 'virtual',
  schedulerPlugins: [spotNodes],
  schedulerConfiguration: configuration,
} as const;

test('pods go to spot nodes, unless they ask for reliable ones', async () => {
  await withCluster(options, async (cluster) => {
    const label = { metadata: { labels: { 'example.com/spot': '' } } };
    await cluster.client.resource(nodes).patch('node-2', 'application/merge-patch+json', label);
    await cluster.clock.advance('1s');
    await cluster.apply([pod('batch'), pod('database', { 'example.com/reliable': '' })]);
    expect((await cluster.waitFor(pods, 'batch', 'PodScheduled'))?.spec.nodeName).toBe('node-2');
    expect((await cluster.waitFor(pods, 'database', 'PodScheduled'))?.spec.nodeName).toBe('node-1');
  });
});

test('a pod that fits no node stays pending with the reason', async () => {
  await withCluster({ ...options, nodes: 1 }, async (cluster) => {
    const label = { metadata: { labels: { 'example.com/spot': '' } } };
    await cluster.client.resource(nodes).patch('node-1', 'application/merge-patch+json', label);
    await cluster.clock.advance('1s');
    await cluster.apply(pod('database', { 'example.com/reliable': '' }));
    const waiting = await cluster.waitFor(
      pods,
      'database',
      ({ status }) => status.conditions?.[0]?.reason === 'Unschedulable',
    );
    expect(waiting?.status.conditions?.[0]?.message).toContain(
      '0/1 nodes are available: 1 node(s) may be taken away at any time.',
    );
    await cluster.client.resource(nodes).patch('node-1', 'application/merge-patch+json', {
      metadata: { labels: { 'example.com/spot': null } },
    });
    await cluster.waitFor(pods, 'database', 'PodScheduled');
  });
});
