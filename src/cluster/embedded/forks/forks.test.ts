import { afterEach, describe, expect, test } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { configMaps, events, nodes, pods } from '#api/groups/core/v1/index.ts';
import { startCluster, type ForkableCluster } from '../start-cluster.ts';

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const cluster of running.splice(0)) await cluster.stop();
});

async function start(options: { readonly nodes?: number; readonly seed?: string } = {}) {
  const cluster = await startCluster({ ...options, clock: 'virtual' });
  running.push(cluster);
  return cluster;
}

async function copy(cluster: ForkableCluster): Promise<ForkableCluster> {
  const fork = await cluster.fork();
  running.push(fork);
  return fork;
}

function web(replicas: number, command?: readonly string[]) {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'nginx', ...(command && { command }) }] },
      },
    },
  };
}

/** Everything that is stored. */
async function contentOf(cluster: ForkableCluster): Promise<unknown> {
  const content: unknown[] = [cluster.clock.now()];
  for (const type of [pods, deployments, configMaps, nodes, events])
    content.push(await cluster.list(type));
  return content;
}

async function revisionOf(cluster: ForkableCluster): Promise<string> {
  return (await cluster.client.resource(pods).list()).metadata.resourceVersion ?? '';
}

describe('a fork', () => {
  test('has the state of the cluster, and writes nothing on its own', async () => {
    const cluster = await start({ nodes: 2 });
    await cluster.apply(web(3));
    await cluster.waitFor(deployments, 'web', 'Available');
    const fork = await copy(cluster);
    expect(fork.clock.now()).toBe(cluster.clock.now());
    expect(await contentOf(fork)).toEqual(await contentOf(cluster));
    expect(await revisionOf(fork)).toBe(await revisionOf(cluster));
    await fork.clock.advance(0);
    expect(await revisionOf(fork)).toBe(await revisionOf(cluster));
    expect(await contentOf(fork)).toEqual(await contentOf(cluster));
  });

  test('goes its own way', async () => {
    const cluster = await start();
    await cluster.apply(web(2));
    await cluster.waitFor(deployments, 'web', 'Available');
    const fork = await copy(cluster);
    await fork.apply(web(5));
    const isComplete = async (): Promise<boolean> =>
      (await fork.list(pods)).filter(({ status }) => status.phase === 'Running').length === 5;
    await fork.clock.runUntil(isComplete);
    await cluster.delete(deployments, 'web');
    await cluster.clock.advance('1m');
    expect(await cluster.list(pods)).toEqual([]);
    expect((await fork.list(pods)).map(({ status }) => status.phase)).toEqual(
      Array.from({ length: 5 }, () => 'Running'),
    );
  });
});
