// Faults of a whole cluster.

import { afterEach, describe, expect, test } from 'vitest';
import { deployments, replicaSets } from '#api/groups/apps/v1/index.ts';
import { configMaps, nodes, pods } from '#api/groups/core/v1/index.ts';
import { defineController, ownerReference } from '#controllers/operator/index.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { EmbeddedCluster, StartClusterOptions } from './embedded-cluster.ts';
import { startCluster } from './start-cluster.ts';

const running: EmbeddedCluster[] = [];
afterEach(async () => {
  for (const cluster of running.splice(0)) await cluster.stop();
});
async function start(
  options: Omit<StartClusterOptions, 'clock'> = {},
): Promise<EmbeddedCluster<VirtualClock>> {
  const cluster = await startCluster({ ...options, clock: 'virtual' });
  running.push(cluster);
  return cluster;
}

const web = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'nginx' }] },
    },
  },
});

test('a crash after a write, conflicts and lost events do not change the outcome', async () => {
  const cluster = await start({ nodes: 2 });
  const crash = cluster.faults.crash('controller-manager', { afterWrite: true, kind: 'Pod' });
  const conflicts = cluster.faults.fail(409, { verb: ['update', 'patch'], count: 3 });
  const cut = cluster.faults.cutWatches({ kind: pods, probability: 0.3, end: 'expired' });
  await cluster.apply(web(3));
  await cluster.waitFor(deployments, 'web', 'Available');
  await cluster.clock.advance('2m');
  expect([crash.hits, crash.active, conflicts.hits, conflicts.active]).toEqual([
    1,
    false,
    3,
    false,
  ]);
  expect(cut.hits).toBeGreaterThan(0);
  expect(await cluster.list(pods)).toHaveLength(3);
});

test('a node without a network becomes not ready, and ready again', async () => {
  const cluster = await start({ nodes: 2 });
  const fault = cluster.faults.partition('kubelet/node-1');
  await cluster.clock.advance('2m');
  const status = async (): Promise<string | undefined> =>
    (await cluster.get(nodes, 'node-1')).status.conditions?.find(({ type }) => type === 'Ready')
      ?.status;
  expect(await status()).toBe('Unknown');
  fault.end();
  await cluster.waitFor(nodes, 'node-1', 'Ready');
});

test('a controller with a stale cache does nothing until the fault ends', async () => {
  const cluster = await start({ nodes: 1 });
  const fault = cluster.faults.staleCache({ component: 'controller-manager', kind: 'ReplicaSet' });
  await cluster.apply(web(1));
  await cluster.clock.advance('1m');
  expect(await cluster.list(replicaSets)).toHaveLength(1);
  expect(await cluster.list(pods)).toHaveLength(0);
  fault.end();
  await cluster.clock.advance('1m');
  expect(await cluster.list(pods)).toHaveLength(1);
});

test('the leader is lost, and another one takes over', async () => {
  const cluster = await start({ nodes: 1, controlPlanes: 2 });
  const fault = cluster.faults.loseLeader('controller-manager');
  await cluster.clock.advance('1m');
  await cluster.apply(web(2));
  await cluster.waitFor(deployments, 'web', 'Available');
  expect(fault.hits).toBeGreaterThan(1);
});

const marker = defineController('marker', ({ client, for: reconciles }) => {
  const all = reconciles(configMaps);
  return async ({ namespace, name }) => {
    const object = all.lister.get(namespace, name);
    if (object === undefined || object.data?.['ask'] === undefined) return;
    const metadata = {
      generateName: `${name}-mark-`,
      namespace,
      ownerReferences: [ownerReference(object, configMaps)],
    };
    await client.resource(configMaps).create({ metadata, data: {} });
  };
});

test('two leaders work at once for a while', async () => {
  const cluster = await start({ nodes: 0 });
  const leaderElection = { namespace: 'default', name: 'marker' };
  cluster.runController(marker, { leaderElection: { ...leaderElection, identity: 'a' } });
  cluster.runController(marker, { leaderElection: { ...leaderElection, identity: 'b' } });
  await cluster.clock.advance('5s');
  const fault = cluster.faults.twoLeaders('marker');
  await cluster.clock.advance('6s');
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x' },
    data: { ask: 'yes' },
  });
  await cluster.clock.advance('1s');
  expect(fault.hits).toBeGreaterThan(0);
  const made = (await cluster.list(configMaps, { namespace: 'default' })).filter(({ metadata }) =>
    metadata.name.startsWith('x-mark-'),
  );
  expect(made).toHaveLength(2);
});

describe('a selector is rejected', () => {
  test.each([
    [(faults) => faults.fail(409, { kind: 'Pdo' }), /no kind "Pdo"/],
    [
      (faults) => faults.fail(409, { component: 'schedular' }),
      /no component "schedular".*scheduler/,
    ],
    [(faults) => faults.fail(418 as 409), /418 cannot be answered/],
    [(faults) => faults.fail(409, { retryAfterSeconds: 3 }), /for 429 and 503/],
    [(faults) => faults.fail(429, { verb: 'put' as 'update' }), /unknown verb "put"/],
    [(faults) => faults.fail(429, { probability: 2 }), /probability/],
    [(faults) => faults.fail(429, { count: 0 }), /count/],
    [(faults) => faults.fail(429, { knd: 'Pod' } as object), /unknown field "knd"/],
    [(faults) => faults.delay({ by: 'soon' }), /by: /],
    [(faults) => faults.dropEvents({ verb: 'get' } as object), /no verb/],
    [(faults) => faults.crash('apiserver'), /cannot be started again/],
    [(faults) => faults.crash('scheduler', { kind: 'Pod' }), /afterWrite/],
    [(faults) => faults.partition('kubelet/node-9'), /no component/],
    [(faults) => faults.diskFull({ component: 'scheduler' } as object), /does not know components/],
    [(faults) => faults.jumpClock({ by: 0 }), /changes nothing/],
    [(faults) => faults.hangWebhook(''), /name of a webhook/],
  ] as const satisfies readonly (readonly [
    (faults: EmbeddedCluster['faults']) => unknown,
    RegExp,
  ])[])('%s', async (add, message) => {
    const cluster = await start({ nodes: 1 });
    expect(() => add(cluster.faults)).toThrow(message);
    expect(cluster.faults.list()).toEqual([]);
  });
});

test('requests of the test are spared unless they are named', async () => {
  const cluster = await start({ nodes: 0 });
  cluster.faults.fail(429, { kind: 'ConfigMap', verb: 'create', retryAfterSeconds: 7 });
  await cluster.client
    .resource(configMaps)
    .create({ metadata: { name: 'a', namespace: 'default' }, data: {} });
  cluster.faults.fail(503, { component: 'test', kind: 'ConfigMap', count: 1 });
  await expect(cluster.get(configMaps, 'a')).rejects.toSatisfy(apierrors.isServiceUnavailable);
  expect(await cluster.get(configMaps, 'a')).toMatchObject({ metadata: { name: 'a' } });
});
