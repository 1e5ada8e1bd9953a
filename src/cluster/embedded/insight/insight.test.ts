import { describe, expect, test } from 'vitest';
import { deployments, replicaSets } from '#api/groups/apps/v1/index.ts';
import { configMaps, namespaces, pods } from '#api/groups/core/v1/index.ts';
import { defineController } from '#controllers/operator/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import * as wait from '#machinery/wait.ts';
import { withCluster } from '../testing.ts';
import { formatEvent, formatHistory } from './index.ts';

const web = (replicas: number): object => ({
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

/** A controller that writes its own name into every ConfigMap with a side. */
const sided = (name: string) =>
  defineController(name, ({ client, for: reconciles }) => {
    const all = reconciles(configMaps);
    return async ({ namespace, name: map }) => {
      const current = all.lister.get(namespace, map);
      if (current?.data?.['side'] === undefined || current.data['side'] === name) return;
      await client
        .resource(configMaps)
        .namespace(namespace)
        .patch(map, 'application/merge-patch+json', { data: { side: name } });
    };
  });

const flag = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'flag' },
  data: { side: '' },
};

describe('history', () => {
  test('names who changed what, by which request, because of which event', async () => {
    await withCluster({ clock: 'virtual', insight: true }, async (cluster) => {
      await cluster.apply(web(1));
      await cluster.waitFor(deployments, 'web', 'Available');
      await cluster.apply(web(2));
      await cluster.waitFor(deployments, 'web', ({ status }) => status.readyReplicas === 2);
      const [set] = await cluster.list(replicaSets, { namespace: 'default' });
      const history = cluster.history(replicaSets, set?.metadata.name ?? '');
      expect(history[0]).toMatchObject({
        change: 'ADDED',
        client: 'deployment-controller',
        request: { verb: 'create', resource: 'replicasets', code: 201 },
        cause: { relation: 'owner', request: { client: 'kubernetes-admin', verb: 'patch' } },
      });
      const scaled = history.find(({ diff }) => diff.includes('.spec.replicas: 1 → 2'));
      expect(scaled).toMatchObject({
        client: 'deployment-controller',
        cause: {
          event: { change: 'MODIFIED' },
          relation: 'owner',
          request: { client: 'kubernetes-admin' },
        },
      });
      const [pod] = await cluster.list(pods, { namespace: 'default' });
      const text = formatHistory(cluster.history(pod as NonNullable<typeof pod>));
      const [first, second] = text.split('\n');
      expect(first).toMatch(/ADDED Pod default\/web-\S+ by replicaset-controller \(create\)$/);
      expect(second).toMatch(
        /because of \w+ ReplicaSet default\/web-\S+, by deployment-controller$/,
      );
      expect(text).toMatch(
        /by kube-scheduler \(create binding\)\n[^]*\.spec\.nodeName: \+ "node-1"/,
      );
      expect(text).toMatch(/by kubelet node-1 \(patch status\)/);
      expect(text).not.toContain('by the store');
    });
  });

  test('follows deletions, and tells objects of one name apart', async () => {
    await withCluster({ clock: 'virtual', nodes: 0, insight: true }, async (cluster) => {
      const [first] = await cluster.apply(flag);
      await cluster.delete(configMaps, 'flag');
      await cluster.apply(flag);
      await cluster.client.resource(configMaps).namespace('default').deleteCollection();
      const history = cluster
        .history(configMaps, 'flag')
        .map(({ change, client, request }) => [change, client, request?.verb]);
      expect(history).toEqual([
        ['ADDED', 'kubernetes-admin', 'patch'],
        ['DELETED', 'kubernetes-admin', 'delete'],
        ['ADDED', 'kubernetes-admin', 'patch'],
        ['DELETED', 'kubernetes-admin', 'deletecollection'],
      ]);
      expect(cluster.history(first as NonNullable<typeof first>)).toHaveLength(2);
      expect(cluster.history(configMaps, 'none')).toEqual([]);
    });
  });

  test('is not there unless something was recorded', async () => {
    await withCluster({ nodes: 0 }, async (cluster) => {
      expect(() => cluster.history(configMaps, 'x')).toThrow(TypeError);
      cluster.events();
      expect(cluster.history(configMaps, 'x')).toEqual([]);
    });
  });
});

describe('events', () => {
  test('are requests, changes and deliveries in order, failures included', async () => {
    await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
      const log = cluster.events();
      const watch = await cluster.client.resource(configMaps).namespace('default').watch();
      const client = cluster.client.resource(configMaps).namespace('default');
      await client.create({ metadata: { generateName: 'x-' }, data: { a: 'b' } });
      await client.get('none').catch(() => undefined);
      await cluster.clock.advance(1);
      for await (const { type } of watch) {
        expect(type).toBe('ADDED');
        break;
      }
      const own = [...log].filter(
        (event) => event.type === 'change' || event.client === 'kubernetes-admin',
      );
      expect(
        own.map((event) =>
          formatEvent(event)
            .slice(24)
            .replace(/x-\w+|\d{2,}$/g, '*'),
        ),
      ).toEqual([
        'request  kubernetes-admin: watch /api/v1/namespaces/default/configmaps *',
        'request  kubernetes-admin: create /api/v1/namespaces/default/configmaps *',
        expect.stringMatching(/^change {3}ADDED ConfigMap default\/\* at \*$/),
        'request  kubernetes-admin: get /api/v1/namespaces/default/configmaps/none 404: configmaps "none" not found',
        'delivery ADDED ConfigMap default/* to kubernetes-admin',
      ]);
      expect(log.filter('request', ({ code }) => code === 404)).toHaveLength(1);
      expect(log.dropped).toBe(0);
    });
  });

  test('can be followed until the cluster stops', async () => {
    const seen: string[] = [];
    let following: Promise<void> | undefined;
    await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
      const log = cluster.events();
      following = (async () => {
        for await (const event of log)
          if (event.type === 'change') seen.push(event.object.metadata.name);
      })();
      await cluster.apply(flag);
    });
    await following;
    expect(seen).toContain('flag');
  });
});

describe('convergence', () => {
  test('a cluster comes to rest', async () => {
    await withCluster({ clock: 'virtual' }, async (cluster) => {
      await cluster.apply(web(2));
      const result = await cluster.converge();
      expect(result).toMatchObject({ converged: true, writes: [] });
      expect(result.afterMs).toBeLessThan(60_000);
    });
  });

  test('controllers that fight are named, with what they write', async () => {
    await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
      cluster.runController(sided('left'));
      cluster.runController(sided('right'));
      await cluster.apply(flag);
      const { converged, message, writes } = await cluster.converge({
        quietFor: 1000,
        timeout: 5000,
      });
      expect(converged).toBe(false);
      expect(writes.map(({ client, object }) => [client, object]).toSorted()).toEqual([
        ['left', 'ConfigMap default/flag'],
        ['right', 'ConfigMap default/flag'],
      ]);
      const lines = writes.flatMap(({ client, diffs }) => diffs.map((diff) => [client, ...diff]));
      expect(lines).toContainEqual(['left', '.data.side: "right" → "left"']);
      expect(lines).toContainEqual(['right', '.data.side: "left" → "right"']);
      expect(message).toMatch(/^the cluster has not come to rest within \S+; in the last 1s:\n/);
      expect(message).toMatch(
        /left has written \d+ times: ConfigMap default\/flag\n[^]*\.data\.side: "right" → "left"/,
      );
    });
  });

  test('writes in vain are no rest, and other changes can be ignored', async () => {
    await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
      const stop = cluster.clock.setInterval(10_000, () => {
        void cluster.client
          .resource(configMaps)
          .namespace('default')
          .patch('none', 'application/merge-patch+json', {})
          .catch(() => undefined);
      });
      const { writes } = await cluster.converge({ timeout: '4m' });
      expect(writes).toMatchObject([
        { client: 'kubernetes-admin', diffs: [], failure: 'configmaps "none" not found' },
      ]);
      stop.cancel();
      let count = 0;
      const counting = cluster.clock.setInterval(10_000, () => {
        void cluster.client.resource(namespaces).patch('default', 'application/merge-patch+json', {
          metadata: { labels: { count: `${count++}` } },
        });
      });
      const ignore = ({ object }: { object: { kind?: string } }): boolean =>
        object.kind === 'Namespace';
      expect((await cluster.converge({ ignore, timeout: '10m' })).converged).toBe(true);
      expect((await cluster.converge({ timeout: '4m' })).converged).toBe(false);
      counting.cancel();
      await expect(cluster.converge({ quietFor: 0 })).rejects.toThrow(RangeError);
    });
  });
});

describe('breakpoints', () => {
  test('hold a request while the clock stands, and let it go on or fail', async () => {
    await withCluster({ clock: 'virtual' }, async (cluster) => {
      const hit = cluster.breakpoint({ verb: 'create', resource: 'pods', subresource: '' });
      await cluster.apply(web(1));
      const held = await hit;
      expect(held.request).toMatchObject({
        client: 'replicaset-controller',
        namespace: 'default',
        body: { metadata: { generateName: expect.stringMatching(/^web-/) } },
      });
      expect(await cluster.list(pods, { namespace: 'default' })).toEqual([]);
      held.fail(apierrors.forbidden({ group: '', resource: 'pods' }, '', 'not now'));
      const again = await cluster.breakpoint(
        ({ verb, resource }) => verb === 'create' && resource === 'pods',
      );
      again.resume();
      await cluster.waitFor(deployments, 'web', 'Available');
    });
  });

  test('that no request meets end in time, and a held request does not keep a cluster from stopping', async () => {
    await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
      await expect(cluster.breakpoint({ client: 'none' }, { timeoutMs: 1000 })).rejects.toThrow(
        wait.WaitTimeoutError,
      );
    });
    let writing: Promise<unknown> | undefined;
    await withCluster({ nodes: 0 }, async (cluster) => {
      const hit = cluster.breakpoint({ name: 'flag', verb: 'patch' });
      writing = cluster.apply(flag).catch((error: unknown) => error);
      await hit;
      await expect(cluster.breakpoint({ client: 'none' }, { timeoutMs: 10 })).rejects.toThrow(
        wait.WaitTimeoutError,
      );
    });
    expect(apierrors.isServiceUnavailable(await writing)).toBe(true);
  });
});
