// metrics.k8s.io of a whole cluster, and an autoscaler that uses it, on the virtual clock.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { apiServices } from '#api/groups/apiregistration/v1/index.ts';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { horizontalPodAutoscalers } from '#api/groups/autoscaling/v2/index.ts';
import { pods } from '#api/groups/core/v1/index.ts';
import { nodeMetrics, podMetrics } from '#api/groups/metrics/v1beta1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { startCluster } from '../index.ts';

const deployment = (cpu: string, replicas = 1): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {simulation.coxswain.dev/cpu: '${cpu}', simulation.coxswain.dev/memory: 64Mi}
    spec:
      containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}}}]
`;

const startVirtual = async () => startCluster({ clock: 'virtual', nodes: 2 });
let cluster: Awaited<ReturnType<typeof startVirtual>>;
beforeEach(async () => {
  cluster = await startVirtual();
});
afterEach(() => cluster.stop());

describe('metrics', () => {
  test('of pods and nodes are there without waiting', async () => {
    await cluster.apply(deployment('250m', 2));
    await cluster.waitFor(deployments, 'web', 'Available');
    await cluster.clock.advance('5s');
    const { items } = await cluster.client.resource(podMetrics).namespace('default').list();
    expect(items).toHaveLength(2);
    expect(items[0]).toMatchObject({
      kind: 'PodMetrics',
      metadata: { namespace: 'default', labels: { app: 'web' } },
      containers: [{ name: 'c', usage: { cpu: '250m', memory: '64Mi' } }],
    });
    const nodes = await cluster.client.resource(nodeMetrics).list();
    expect(nodes.items.map(({ metadata }) => metadata.name)).toEqual(['node-1', 'node-2']);
    // The node itself uses 20m and 200Mi.
    expect(nodes.items.map(({ usage }) => usage['cpu']).toSorted()).toEqual(
      expect.arrayContaining([expect.stringMatching(/^(20|270|520)m$/)]),
    );
    const [{ metadata }] = items as [(typeof items)[number]];
    const one = await cluster.client.resource(podMetrics).namespace('default').get(metadata.name);
    expect(one.containers).toEqual(items[0]!.containers);
  });

  test('are selected by labels, and missing ones are not found', async () => {
    await cluster.apply(deployment('250m'));
    await cluster.waitFor(deployments, 'web', 'Available');
    const metrics = cluster.client.resource(podMetrics).namespace('default');
    expect((await metrics.list({ labelSelector: 'app=web' })).items).toHaveLength(1);
    expect((await metrics.list({ labelSelector: 'app=other' })).items).toEqual([]);
    await cluster.apply(
      'apiVersion: v1\nkind: Pod\nmetadata: {name: pending}\n' +
        'spec: {nodeSelector: {no: such}, containers: [{name: c, image: nginx}]}',
    );
    const reason = (name: string): Promise<unknown> => metrics.get(name).catch(String);
    expect(await reason('none')).toContain('pods "none" not found');
    expect(await reason('pending')).toContain('pods.metrics.k8s.io "default/pending" not found');
    await expect(cluster.client.resource(nodeMetrics).get('none')).rejects.toThrow(
      'nodes "none" not found',
    );
    const watching = cluster.client.transport.text({
      method: 'GET',
      path: '/apis/metrics.k8s.io/v1beta1/pods',
      query: { watch: 'true' },
    });
    await expect(watching).rejects.toSatisfy(apierrors.isMethodNotSupported);
  });

  test('yield to an APIService, and come back when it is deleted', async () => {
    const list = () => cluster.client.resource(nodeMetrics).list();
    expect((await list()).items).toHaveLength(2);
    const access = cluster.client.resource(apiServices);
    await access.create({
      metadata: { name: 'v1beta1.metrics.k8s.io' },
      spec: {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { namespace: 'kube-system', name: 'metrics-server' },
      },
    });
    await cluster.clock.advance('1s');
    await expect(list()).rejects.toSatisfy(apierrors.isServiceUnavailable);
    await access.delete('v1beta1.metrics.k8s.io');
    await cluster.clock.advance('1s');
    expect((await list()).items).toHaveLength(2);
    await cluster.clock.advance('1m');
    expect((await access.list()).items.map(({ metadata }) => metadata.name)).not.toContain(
      'v1beta1.metrics.k8s.io',
    );
  });
});

test('an autoscaler follows the usage of simulated pods', async () => {
  // 50 % of the request at first, 150 % from 2 to 10 minutes after a pod's start, then 10 %.
  await cluster.apply(deployment('50m,2m=150m,10m=10m'));
  await cluster.apply(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`);
  await cluster.waitFor(deployments, 'web', 'Available');
  const replicas = async (): Promise<number | undefined> =>
    (await cluster.client.resource(deployments).namespace('default').get('web')).spec.replicas;
  await cluster.clock.advance('1m30s');
  const { status } = await cluster.client
    .resource(horizontalPodAutoscalers)
    .namespace('default')
    .get('web');
  expect(status.currentMetrics?.[0]?.resource?.current).toEqual({
    averageUtilization: 50,
    averageValue: '50m',
  });
  expect(await replicas()).toBe(1);
  await cluster.clock.advance('2m');
  expect(await replicas()).toBeGreaterThanOrEqual(2);
  await cluster.clock.advance('30m');
  expect(await replicas()).toBe(1);
  const { items } = await cluster.client.resource(pods).namespace('default').list();
  expect(items).toHaveLength(1);
});
