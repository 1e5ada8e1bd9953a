import { describe, expect, test } from 'vitest';
import {
  pods,
  type ReplicationController,
  replicationControllers,
} from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { withCluster } from '#cluster/embedded/testing.ts';
import type { EmbeddedCluster } from '#cluster/index.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { WaitTimeoutError } from '#machinery/wait.ts';
import { scaleDownTo, scaleUpTo } from './plan.ts';
import {
  recreatePods,
  rollingUpdate,
  RollingUpdateError,
  type RollingUpdateOptions,
} from './index.ts';

const controller = (
  name: string,
  replicas: number | undefined,
  image = 'nginx:1',
): New<ReplicationController> => ({
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name },
  spec: {
    ...(replicas !== undefined && { replicas }),
    selector: { app: 'web', version: name },
    template: {
      metadata: { labels: { app: 'web', version: name } },
      spec: { containers: [{ name: 'c', image }] },
    },
  },
});

type Cluster = EmbeddedCluster<VirtualClock>;

/** Advances time until the promise settles. */
async function during<T>({ clock }: Cluster, promise: Promise<T>): Promise<T> {
  const state = { settled: false };
  const settle = (): void => void (state.settled = true);
  promise.then(settle, settle);
  while (!state.settled) await clock.advance(1000);
  return promise;
}

async function withOld(
  test: (
    cluster: Cluster,
    update: (options: Partial<RollingUpdateOptions>) => Promise<unknown>,
    lines: string[],
  ) => Promise<void>,
): Promise<void> {
  await withCluster({ clock: 'virtual' }, async (cluster) => {
    await cluster.apply(controller('v1', 2));
    await cluster.waitFor(replicationControllers, 'v1', ({ status }) => status.readyReplicas === 2);
    const lines: string[] = [];
    const { client, clock } = cluster;
    await test(
      cluster,
      (options) =>
        during(
          cluster,
          rollingUpdate({
            client,
            clock,
            namespace: 'default',
            oldName: 'v1',
            onProgress: (line) => lines.push(line),
            ...options,
          }),
        ),
      lines,
    );
  });
}

const names = async (cluster: Cluster): Promise<string[]> =>
  (await cluster.list(replicationControllers, { namespace: 'default' })).map(
    ({ metadata }) => metadata.name,
  );

describe('the steps', () => {
  const limits = { desired: 3, maxSurge: 1, maxUnavailable: 0 };

  test('keep to the limits', () => {
    expect(scaleUpTo({ old: 3, new: 0 }, limits)).toBe(1);
    expect(scaleUpTo({ old: 3, new: 1 }, limits)).toBe(1);
    expect(scaleUpTo({ old: 0, new: 1 }, limits)).toBe(3);
    expect(scaleUpTo({ old: 0, new: 3 }, limits)).toBe(3);
    expect(scaleDownTo({ old: 3, new: 1 }, 0, limits)).toBe(3);
    expect(scaleDownTo({ old: 3, new: 1 }, 1, limits)).toBe(2);
    expect(scaleDownTo({ old: 2, new: 3 }, 3, limits)).toBe(0);
    expect(scaleDownTo({ old: 0, new: 3 }, 3, limits)).toBe(0);
    expect(scaleDownTo({ old: 5, new: 0 }, 0, { desired: 0, maxSurge: 1, maxUnavailable: 5 })).toBe(
      0,
    );
  });
});

describe('a rolling update', () => {
  test('replaces a controller by another one, with the words of kubectl', async () => {
    await withOld(async (cluster, update, lines) => {
      const began = cluster.clock.now();
      await update({ controller: controller('v2', undefined, 'nginx:2') });
      expect(lines).toEqual([
        'Created v2',
        "Scaling up v2 from 0 to 2, scaling down v1 from 2 to 0 (keep 2 pods available, don't exceed 3 pods)",
        'Scaling v2 up to 1',
        'Scaling v1 down to 1',
        'Scaling v2 up to 2',
        'Scaling v1 down to 0',
        'Update succeeded. Deleting v1',
      ]);
      expect(cluster.clock.now() - began).toBeGreaterThanOrEqual(120_000);
      expect(await names(cluster)).toEqual(['v2']);
      const { metadata } = await cluster.get(replicationControllers, 'v2');
      expect(metadata.annotations).toBeUndefined();
      await cluster.clock.advance('1m');
      const images = (await cluster.list(pods)).map(({ spec }) => spec.containers[0]?.image);
      expect(images).toEqual(['nginx:2', 'nginx:2']);
    });
  });

  test('changes an image and keeps the name and the pods', async () => {
    await withOld(async (cluster, update, lines) => {
      await update({ image: 'nginx:2' });
      expect(await names(cluster)).toEqual(['v1']);
      const after = await cluster.get(replicationControllers, 'v1');
      expect(after.spec.template?.spec.containers[0]?.image).toBe('nginx:2');
      expect(after.spec.selector?.['deployment']).toMatch(/^[0-9a-f]{32}$/);
      expect(after.metadata.annotations).toBeUndefined();
      expect(lines.at(-1)).toBe(`Renaming v1-${after.spec.selector?.['deployment']} to v1`);
      await cluster.clock.advance('1m');
      const owners = (await cluster.list(pods)).map(
        ({ metadata }) => metadata.ownerReferences?.[0]?.uid,
      );
      expect(owners).toEqual([after.metadata.uid, after.metadata.uid]);
      // A second update of the same image needs a pull policy.
      await expect(update({ image: 'nginx:2' })).rejects.toThrow('--image-pull-policy');
    });
  });

  test('goes on where it was interrupted, and back', async () => {
    await withOld(async (cluster, update, lines) => {
      const abort = new AbortController();
      const interrupted = update({
        newName: 'v2',
        image: 'nginx:2',
        signal: abort.signal,
        onProgress: (line) =>
          line === 'Scaling v1 down to 1' && abort.abort(new Error('interrupted')),
      });
      await expect(interrupted).rejects.toThrow('interrupted');
      await expect(update({ newName: 'v2', image: 'nginx:3' })).rejects.toThrow(
        'Found existing in-progress update to image (nginx:2).',
      );
      const again = new AbortController();
      const stopped = update({
        newName: 'v2',
        image: 'nginx:2',
        signal: again.signal,
        onProgress: (line) => {
          lines.push(line);
          if (line === 'Scaling v2 up to 2') again.abort(new Error('interrupted'));
        },
      });
      await expect(stopped).rejects.toThrow('interrupted');
      expect(lines.slice(0, 2)).toEqual([
        'Found existing update in progress (v2), resuming.',
        'Continuing update with existing controller v2.',
      ]);
      lines.length = 0;
      await update({ newName: 'v2', rollback: true });
      expect(lines[0]).toBe('Setting "v1" replicas to 2');
      expect(lines.at(-1)).toBe('Update succeeded. Deleting v2');
      const after = await cluster.get(replicationControllers, 'v1');
      expect([after.spec.replicas, after.metadata.annotations]).toEqual([2, undefined]);
      expect(await names(cluster)).toEqual(['v1']);
    });
  });

  test('finishes a renaming that was interrupted', async () => {
    await withOld(async (cluster, update, lines) => {
      const abort = new AbortController();
      const interrupted = update({
        image: 'nginx:2',
        signal: abort.signal,
        onProgress: (line) => line.startsWith('Renaming') && abort.abort(new Error('interrupted')),
      });
      await expect(interrupted).rejects.toThrow('interrupted');
      await cluster.waitFor(replicationControllers, 'v1', 'deleted');
      await update({ image: 'nginx:2' });
      expect(await names(cluster)).toEqual(['v1']);
      expect(lines).toEqual([expect.stringMatching(/^Renaming v1-\w+ to v1$/)]);
    });
  });

  test('ends in time when new pods do not become ready', async () => {
    await withOld(async (cluster, update) => {
      const broken = controller('v2', 2);
      const spec = {
        containers: [{ name: 'c', image: 'busybox', command: ['sh', '-c', 'exit 1'] }],
      };
      const failing = {
        ...broken,
        spec: { ...broken.spec, template: { ...broken.spec?.template, spec } },
      };
      const began = cluster.clock.now();
      await expect(
        update({ controller: failing, timeoutMs: 90_000, updatePeriodMs: 0 }),
      ).rejects.toThrow(
        new WaitTimeoutError('timed out waiting for any update progress to be made'),
      );
      expect(cluster.clock.now() - began).toBeLessThan(120_000);
      // The old pods are still there.
      expect((await cluster.get(replicationControllers, 'v1')).spec.replicas).toBe(2);
    });
  });

  test('is rejected where it cannot work', async () => {
    await withOld(async (cluster, update) => {
      const same = controller('v2', 2);
      const selector = { app: 'web' };
      const cases: [Partial<RollingUpdateOptions>, string][] = [
        [{}, 'Must specify --filename or --image for new controller'],
        [{ image: 'x', controller: same }, '--filename and --image can not both be specified'],
        [{ rollback: true, image: 'x' }, "Don't specify --filename or --image on rollback"],
        [{ rollback: true, newName: 'v9' }, 'Could not find v9 to rollback.'],
        [{ image: 'x', container: 'none' }, 'container none not found in pod'],
        [
          { controller: controller('v1', 1) },
          'v1 cannot have the same name as the existing ReplicationController v1',
        ],
        [
          { controller: { ...same, spec: { ...same.spec, selector } } },
          'v2 must specify a matching key with non-equal value in Selector for v1',
        ],
        [
          { controller: controller('v2', 0) },
          'Invalid controller spec for v2; required: > 0 replicas, actual: 0',
        ],
        [{ controller: same, maxSurge: 0 }, 'one of maxSurge or maxUnavailable must be specified'],
      ];
      for (const [options, message] of cases)
        await expect(update(options)).rejects.toThrow(new RollingUpdateError(message));
      await cluster.delete(replicationControllers, 'v2');
      await cluster.waitFor(replicationControllers, 'v2', 'deleted');
      await cluster.apply(controller('v2', 1));
      await expect(update({ controller: same })).rejects.toThrow(
        'Missing/unexpected annotations for controller v2',
      );
      await expect(update({ oldName: 'none', controller: same })).rejects.toSatisfy(
        apierrors.isNotFound,
      );
    });
  });
});

describe('recreated pods', () => {
  test('go one by one, and come back', async () => {
    await withOld(async (cluster) => {
      const { client, clock } = cluster;
      const before = (await cluster.list(pods)).map(({ metadata }) => metadata.name);
      const lines: string[] = [];
      const began = clock.now();
      const onProgress = (line: string): number => lines.push(line);
      const options = {
        client,
        clock,
        namespace: 'default',
        name: 'v1',
        updatePeriodMs: 10_000,
        onProgress,
      };
      await during(cluster, recreatePods({ ...options, image: 'nginx:2' }));
      expect(lines.toSorted()).toEqual(before.map((name) => `Deleting pod ${name}`).toSorted());
      expect(clock.now() - began).toBeGreaterThanOrEqual(20_000);
      const after = (await cluster.list(pods)).filter(
        ({ metadata }) => metadata.deletionTimestamp === undefined,
      );
      expect(after.map(({ spec }) => spec.containers[0]?.image)).toEqual(['nginx:2', 'nginx:2']);
    });
  });

  test('that do not come back in time are an error that counts them', async () => {
    await withCluster(
      { clock: 'virtual', controllers: ['*', '-replicationcontroller-controller'], nodes: 1 },
      async (cluster) => {
        const { client, clock } = cluster;
        await cluster.apply(controller('v1', 2));
        const options = { client, clock, namespace: 'default', name: 'v1', timeoutMs: 30_000 };
        await expect(during(cluster, recreatePods(options))).rejects.toThrow(
          new WaitTimeoutError('timed out waiting for the pods of v1: 0 of 2 are back after 30s'),
        );
        await expect(during(cluster, recreatePods({ ...options, name: 'none' }))).rejects.toSatisfy(
          apierrors.isNotFound,
        );
      },
    );
  });
});
