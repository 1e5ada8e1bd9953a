import { afterEach, describe, expect, test, vi } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import { ApiServer } from '#apiserver/server.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { Cluster } from '../composition/cluster.ts';
import type { ClusterConfig } from '../composition/cluster-config.ts';
import { ComponentsThread } from './index.ts';

const running: Cluster[] = [];
afterEach(async () => {
  for (const cluster of running.splice(0)) await cluster.stop();
});

async function make(more: Partial<ClusterConfig> = {}): Promise<Cluster> {
  const cluster = await Cluster.make({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    storage: createMemoryStorage({ clock: systemClock, logger: silentLogger }),
    nodes: [],
    thread: {
      components: new ComponentsThread(),
      nodes: [1, 2].map((i) => ({ name: `node-${i}`, podCidrs: [`10.244.${i}.0/24`] as const })),
    },
    podCidrs: ['10.244.0.0/16'],
    serviceCidr: '10.96.0.0/16',
    ...more,
  });
  running.push(cluster);
  return cluster;
}

const template = {
  metadata: { labels: { app: 'web' } },
  spec: {
    containers: [
      { name: 'c', image: 'busybox:1.36', command: ['sh', '-c', 'echo hello; sleep 1d'] },
    ],
  },
};

describe('components in a thread of their own', () => {
  test('run what the API asks for, and are reached through it', async () => {
    const cluster = await make();
    await cluster.begin();
    const { client } = cluster;
    expect(
      (await client.resource(nodes).list()).items.map(({ metadata }) => metadata.name),
    ).toEqual(['node-1', 'node-2']);
    await client
      .resource(deployments)
      .namespace('default')
      .create({
        metadata: { name: 'web' },
        spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template },
      });
    const namespaced = client.resource(pods).namespace('default');
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 10, timeoutMs: 60_000 },
      async () => {
        const { items } = await namespaced.list();
        return items.length === 3 && items.every(({ status }) => status.phase === 'Running');
      },
    );
    const [pod] = (await namespaced.list()).items;
    const path = `/api/v1/namespaces/default/pods/${pod?.metadata.name}/log`;
    expect(await client.transport.text({ method: 'GET', path })).toBe('hello\n');
    const metrics = await client.transport.text({ method: 'GET', path: '/metrics' });
    const lines = metrics
      .split('\n')
      .filter((line) => /^(scheduler_schedule_attempts|workqueue_adds)_total/.test(line));
    expect(lines).toContainEqual(expect.stringMatching(/result="scheduled".* 3$/));
    expect(lines).toContainEqual(expect.stringMatching(/name="deployment"/));
  });

  test('renew the Leases of their nodes together', async () => {
    const cluster = await make();
    const renewals = vi.spyOn(ApiServer.prototype, 'makeHeartbeats');
    await cluster.begin();
    const accepted = async (): Promise<readonly string[]> => {
      const results = await Promise.all(
        renewals.mock.calls.map(async ([{ nodes: names }], index) => {
          const refused = await (renewals.mock.results[index]?.value as Promise<readonly string[]>);
          return names.filter((name) => !refused.includes(name));
        }),
      );
      return results.flat();
    };
    const held = cluster.client.resource(leases).namespace('kube-node-lease');
    // A kubelet renews its Lease every ten seconds, and first by a request of its own.
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 100, timeoutMs: 120_000 },
      async () => new Set(await accepted()).size === 2,
    );
    for (const { metadata, spec } of (await held.list()).items)
      expect(spec).toMatchObject({ holderIdentity: metadata.name, leaseDurationSeconds: 40 });
    renewals.mockRestore();
  });

  test('say what is wrong with their configuration, and stop', async () => {
    const cluster = await make({ schedulerConfiguration: { kind: 'Nonsense' } });
    await expect(cluster.begin()).rejects.toMatchObject({ name: 'ConfigurationError' });
    await cluster.stop();
  });

  test('can be stopped before they were started', async () => {
    const cluster = await make();
    await cluster.stop();
  });

  test('end the calls to a thread that has ended', async () => {
    // The thread ends while it starts: there is no such log level.
    const components = new ComponentsThread({
      logging: { format: 'json', level: 'nonsense' as never },
    });
    expect((await components.failed).message).toContain('nonsense');
    const cluster = await make({ thread: { components, nodes: [] } });
    await expect(cluster.begin()).rejects.toThrow('nonsense');
    expect(await components.metrics()).toBe('');
    await components.stop();
  });

  test('cannot have what does not go to another thread', async () => {
    const cluster = await make({ schedulerPlugins: [] });
    await expect(cluster.begin()).rejects.toThrow(
      'plugins of the scheduler cannot go to another thread',
    );
  });
});
