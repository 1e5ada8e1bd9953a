// Tests of a manifest: what happens to an application during a rollout, and when a node fails. One
// cluster serves all tests of the file, each in a namespace of its own. Time is virtual: minutes
// pass in milliseconds.

import { deployments } from 'coxswain/api/apps/v1';
import { pods } from 'coxswain/api/core/v1';
import { errors } from 'coxswain/client';
import { sharedCluster } from 'coxswain/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

const shared = sharedCluster({ beforeAll, afterAll }, { nodes: 3, clock: 'virtual' });

const application = (image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'shop' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'shop' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: {
      metadata: { labels: { app: 'shop' } },
      spec: {
        containers: [{ name: 'shop', image }],
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'shop' } },
            // Failed nodes do not count.
            nodeTaintsPolicy: 'Honor',
          },
        ],
      },
    },
  },
});

const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'shop' },
  spec: { minAvailable: 3, selector: { matchLabels: { app: 'shop' } } },
};

test('replicas run on different nodes', async () => {
  const { cluster } = shared;
  const namespace = await shared.namespace();
  await cluster.apply(application('shop:1'), { namespace });
  await cluster.waitFor(deployments, 'shop', 'Available', { namespace });
  const nodes = (await cluster.list(pods, { namespace })).map(({ spec }) => spec.nodeName);
  expect(new Set(nodes).size).toBe(3);
});

test('a rollout with an image that does not exist takes no replica away', async () => {
  const { cluster } = shared;
  const namespace = await shared.namespace();
  await cluster.apply(application('shop:1'), { namespace });
  await cluster.waitFor(deployments, 'shop', 'Available', { namespace });
  await cluster.apply(application('shop:does-not-exist'), { namespace });
  await cluster.clock.advance('11m');
  const { status } = await cluster.get(deployments, 'shop', { namespace });
  expect(status.availableReplicas).toBe(3);
  const progressing = status.conditions?.find(({ type }) => type === 'Progressing');
  expect(progressing).toMatchObject({ status: 'False', reason: 'ProgressDeadlineExceeded' });
});

test('the budget rejects evictions that it does not allow', async () => {
  const { cluster } = shared;
  const namespace = await shared.namespace();
  await cluster.apply([application('shop:1'), budget], { namespace });
  await cluster.waitFor(deployments, 'shop', 'Available', { namespace });
  await cluster.clock.advance('10s');
  const [pod] = await cluster.list(pods, { namespace });
  const name = pod?.metadata.name ?? '';
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  const evict = cluster.client
    .resource(pods)
    .namespace(namespace)
    .subresource(name, 'eviction', eviction);
  await expect(evict).rejects.toSatisfy(errors.isTooManyRequests);
});

test('pods of a failed node are recreated on other nodes', async () => {
  const { cluster } = shared;
  const namespace = await shared.namespace();
  await cluster.apply(application('shop:1'), { namespace });
  await cluster.waitFor(deployments, 'shop', 'Available', { namespace });
  await cluster.stopNode('node-2');
  await cluster.clock.advance('10m');
  const running = (await cluster.list(pods, { namespace })).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
  expect(running.map(({ spec }) => spec.nodeName)).not.toContain('node-2');
  expect((await cluster.get(deployments, 'shop', { namespace })).status.availableReplicas).toBe(3);
  await cluster.startNode('node-2');
});
