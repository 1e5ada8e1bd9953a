// A suite of node:test whose tests have forks of one cluster. forked-cluster.test.ts runs it.

import { equal } from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { pods } from '#api/groups/core/v1/index.ts';
import { forkedCluster } from '../forked-cluster.ts';
import type { EmbeddedCluster } from '../embedded-cluster.ts';

const web = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'nginx' }] },
    },
  },
});

void describe('a suite', () => {
  const forked = forkedCluster(
    { beforeAll: before, afterAll: after, beforeEach, afterEach },
    {},
    async (cluster: EmbeddedCluster) => {
      await cluster.apply(web(1));
      await cluster.waitFor(deployments, 'web', 'Available');
    },
  );
  const running = async (cluster: EmbeddedCluster): Promise<number> =>
    (await cluster.list(pods)).length;

  void test('the first test scales up', async () => {
    const { cluster } = forked;
    await cluster.apply(web(3));
    await cluster.clock.advance('10s');
    equal(await running(cluster), 3);
  });

  void test('the second test sees nothing of it', async () => {
    equal(await running(forked.cluster), 1);
    equal(await running(forked.base), 1);
  });

  void test(
    'a test with a fork of its own',
    forked.run(async (cluster) => {
      await cluster.delete(deployments, 'web');
      await cluster.clock.advance('1m');
      equal(await running(cluster), 0);
    }),
  );
});
