import { beforeEach, describe, expect, test } from 'vitest';
import { FakeServer, settle, TestClock } from '../../testing/fake-server.ts';
import { Api } from '../server/api.ts';
import { drainPlan, evictAll } from './drain.ts';
import type { KubeObject } from '../lists/live-object.ts';

const pod = (name: string, more: Partial<KubeObject> = {}, owner?: string): KubeObject => ({
  ...more,
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    ...(owner !== undefined && {
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: owner, name: 'o', uid: 'u', controller: true },
      ],
    }),
    ...more.metadata,
  },
});
const names = (pods: readonly KubeObject[]): string[] => pods.map(({ metadata }) => metadata.name);

test('pods of DaemonSets and of files stay; others are evicted, with what is lost', () => {
  const volumes = { spec: { volumes: [{ name: 'cache', emptyDir: {} }] } };
  const plan = drainPlan([
    pod('web', {}, 'ReplicaSet'),
    pod('cache', volumes, 'ReplicaSet'),
    pod('bare'),
    pod('agent', {}, 'DaemonSet'),
    pod('agent-done', { status: { phase: 'Failed' } }, 'DaemonSet'),
    pod('static', {
      metadata: { name: 'static', annotations: { 'kubernetes.io/config.mirror': 'x' } },
    }),
    pod('done', { status: { phase: 'Succeeded' }, ...volumes }),
  ]);
  expect(names(plan.evicted)).toEqual(['web', 'cache', 'bare', 'agent-done', 'done']);
  expect(plan.staying.map(({ pod: { metadata }, reason }) => [metadata.name, reason])).toEqual([
    ['agent', 'belongs to a DaemonSet'],
    ['static', 'comes from a file of the node'],
  ]);
  expect(names(plan.unmanaged)).toEqual(['bare']);
  expect(names(plan.withLocalData)).toEqual(['cache']);
});

describe('evictions', () => {
  let server: FakeServer;
  let clock: TestClock;
  let api: Api;
  let progress: string[];
  let abort: AbortController;
  beforeEach(() => {
    server = new FakeServer();
    clock = new TestClock();
    api = new Api(server.fetch, {
      session: 0,
      sessionEnded: false,
      answered: () => undefined,
      unreachable: () => undefined,
    });
    progress = [];
    abort = new AbortController();
  });
  const start = (): Promise<void> =>
    evictAll(
      { api, clock },
      [pod('web')],
      (_, each) => progress.push('message' in each ? `${each.kind}: ${each.message}` : each.kind),
      abort.signal,
    );

  test('wait for a budget, then for the end of the pod', async () => {
    server.nextJson({ message: "Cannot evict pod as it would violate the pod's budget." }, 429);
    const done = start();
    await settle();
    expect(progress).toEqual([
      'evicting',
      "waiting: Cannot evict pod as it would violate the pod's budget.",
    ]);
    server.nextJson({}, 201);
    server.nextJson(pod('web'));
    await clock.advance(5000);
    expect(progress.at(-1)).toBe('ending');
    server.nextJson({}, 404);
    await clock.advance(1000);
    await done;
    expect(progress.at(-1)).toBe('gone');
    expect(server.requests[0]?.pathname).toBe('/api/v1/namespaces/default/pods/web/eviction');
  });

  test('count a pod that is gone, or replaced by another one of its name, as done', async () => {
    server.nextJson({}, 404);
    await start();
    server.nextJson({}, 201);
    server.nextJson(pod('web', { metadata: { name: 'web', uid: 'another' } }));
    await start();
    expect(progress.filter((each) => each === 'gone')).toHaveLength(2);
  });

  test('say why one fails', async () => {
    server.nextJson({ message: 'you may not evict' }, 403);
    await start();
    expect(progress.at(-1)).toBe('failed: you may not evict');
  });

  test('end when they are given up', async () => {
    server.nextJson({ message: 'budget' }, 429);
    const done = start();
    await settle();
    abort.abort(new Error('given up'));
    await expect(done).rejects.toThrow('given up');
  });
});
