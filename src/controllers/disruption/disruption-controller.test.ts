import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { replicaSets } from '#api/groups/apps/v1/index.ts';
import { events, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { type PodDisruptionBudget, podDisruptionBudgets } from '#api/groups/policy/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ReplicaManager, replicaSetKind } from '../replicaset/index.ts';
import { readyPods } from '../testing/ready-pods.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { describeSelector, desiredHealthy } from './budget.ts';
import { DisruptionController } from './index.ts';

const labels = { app: 'web' };
const budget = (spec: New<PodDisruptionBudget['spec']>, name = 'b'): New<PodDisruptionBudget> => ({
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: labels }, ...spec },
});
const webSet = (replicas: number) => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
});

const makeReplicas = (config: ConstructorParameters<typeof DisruptionController>[0]) =>
  new ReplicaManager({ ...config, kind: replicaSetKind });

describe('DisruptionController', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
  });
  afterEach(() => cluster.stop());

  const inDefault = () => cluster.client.resource(pods).namespace('default');
  const statusOf = async (name = 'b') =>
    (await cluster.client.resource(podDisruptionBudgets).namespace('default').get(name)).status;
  const eventTexts = async () =>
    (await cluster.client.resource(events).namespace('default').list()).items.map(
      ({ reason, message }) => `${reason}: ${message}`,
    );
  const evict = (name: string) =>
    inDefault().subresource(name, 'eviction', {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name },
    });
  const start = async (spec: New<PodDisruptionBudget['spec']>, replicas = 3) => {
    await cluster.client.resource(replicaSets).create(webSet(replicas));
    await cluster.client.resource(podDisruptionBudgets).create(budget(spec));
    await cluster.run(makeReplicas);
    await cluster.run(readyPods());
    await cluster.run((config) => new DisruptionController(config));
    await cluster.clock.settle();
  };

  test.each<[New<PodDisruptionBudget['spec']>, number, number]>([
    [{ minAvailable: 2 }, 2, 1],
    [{ minAvailable: '50%' }, 2, 1],
    [{ maxUnavailable: 1 }, 2, 1],
    [{ maxUnavailable: '34%' }, 1, 2],
    [{ maxUnavailable: 5 }, 0, 3],
    [{ minAvailable: 5 }, 5, 0],
  ])('counts for %j', async (spec, desired, allowed) => {
    await start(spec);
    expect(await statusOf()).toEqual({
      observedGeneration: 1,
      expectedPods: 3,
      currentHealthy: 3,
      desiredHealthy: desired,
      disruptionsAllowed: allowed,
      conditions: [
        {
          type: 'DisruptionAllowed',
          status: allowed > 0 ? 'True' : 'False',
          reason: allowed > 0 ? 'SufficientPods' : 'InsufficientPods',
          message: '',
          observedGeneration: 1,
          lastTransitionTime: expect.any(String),
        },
      ],
    });
  });

  test('allows as many evictions as there are replacements', async () => {
    await start({ maxUnavailable: 1 });
    const [first, second] = (await inDefault().list()).items as readonly [
      Immutable<Pod>,
      Immutable<Pod>,
    ];
    await evict(first.metadata.name);
    const refused = await evict(second.metadata.name).catch((error: unknown) => error);
    expect(apierrors.isTooManyRequests(refused)).toBe(true);
    await cluster.clock.settle();
    expect(await statusOf()).toMatchObject({ disruptionsAllowed: 1, currentHealthy: 3 });
    expect((await statusOf()).disruptedPods).toBeUndefined();
    await evict(second.metadata.name);
  });

  test('counts a pod again that was not deleted after all, and clears its condition', async () => {
    await start({ maxUnavailable: 1 });
    const [pod] = (await inDefault().list()).items as readonly [Immutable<Pod>];
    const client = cluster.client.resource(podDisruptionBudgets).namespace('default');
    const current = await client.get('b');
    const at = new Date(cluster.clock.now()).toISOString().replace('.000Z', 'Z');
    await client.updateStatus({
      ...current,
      status: { ...current.status, disruptedPods: { [pod.metadata.name]: at } },
    });
    await inDefault().patch(
      pod.metadata.name,
      'application/strategic-merge-patch+json',
      {
        status: {
          conditions: [
            {
              type: 'DisruptionTarget',
              status: 'True',
              reason: 'EvictionByEvictionAPI',
              lastTransitionTime: at,
            },
          ],
        },
      },
      { subresource: 'status' },
    );
    await cluster.clock.advance('1m');
    expect(await statusOf()).toMatchObject({
      currentHealthy: 2,
      disruptionsAllowed: 0,
      disruptedPods: { [pod.metadata.name]: at },
    });
    await cluster.clock.advance('2m');
    expect(await statusOf()).toMatchObject({ currentHealthy: 3, disruptionsAllowed: 1 });
    const marks = (await inDefault().get(pod.metadata.name)).status.conditions?.filter(
      ({ type }) => type === 'DisruptionTarget',
    );
    expect(marks).toMatchObject([{ status: 'False' }]);
    expect(await eventTexts()).toContain(
      "NotDeleted: Pod was expected by PDB default/default to be deleted but it wasn't",
    );
  });

  test('allows no evictions if it cannot count the pods', async () => {
    await cluster.client.resource(podDisruptionBudgets).create(budget({ maxUnavailable: 1 }));
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'u', controller: true };
    const metadata = { name: 'p', namespace: 'default', labels, ownerReferences: [owner] };
    await cluster.client
      .resource(pods)
      .create({ metadata, spec: { containers: [{ name: 'c', image: 'i' }] } });
    await cluster.run((config) => new DisruptionController(config));
    await cluster.clock.settle();
    const why = 'jobs.batch does not implement the scale subresource';
    expect((await statusOf()).conditions).toMatchObject([
      { status: 'False', reason: 'SyncFailed', message: why },
    ]);
    expect(await eventTexts()).toContain(
      `CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: ${why}`,
    );
  });

  test('records events for pods without a controller, and for budgets without pods', async () => {
    await cluster.client.resource(podDisruptionBudgets).create(budget({ maxUnavailable: 1 }));
    await cluster.run((config) => new DisruptionController(config));
    await cluster.clock.settle();
    expect(await eventTexts()).toEqual(['NoPods: No matching pods found']);
    await cluster.client.resource(pods).create({
      metadata: { name: 'p', namespace: 'default', labels },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
    await cluster.clock.settle();
    expect(await eventTexts()).toContainEqual(
      expect.stringContaining('UnmanagedPods: Pods selected by this PodDisruptionBudget'),
    );
    expect(await statusOf()).toMatchObject({ expectedPods: 0, disruptionsAllowed: 0 });
  });

  test('writes nothing when nothing has changed', async () => {
    await start({ minAvailable: 2 });
    const before = cluster.faults.requests.length;
    await cluster.clock.advance('30m');
    expect(
      cluster.faults.requests.slice(before).filter((request) => !request.startsWith('GET')),
    ).toEqual([]);
  });
});

test('formats selectors as upstream does', () => {
  expect(describeSelector({ matchLabels: { b: '2', a: '1' } })).toBe(
    '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{},}',
  );
  expect(() =>
    desiredHealthy({ metadata: {} as never, status: {} as never, spec: { minAvailable: 'x' } }, 1),
  ).toThrow(/percentage/);
});

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new DisruptionController(config),
    others: [makeReplicas, readyPods()],
    steps: [
      async ({ client }) => void (await client.resource(replicaSets).create(webSet(2))),
      async ({ client }) =>
        void (await client.resource(podDisruptionBudgets).create(budget({ maxUnavailable: 1 }))),
      async ({ client }) => {
        const [pod] = (await client.resource(pods).namespace('default').list()).items;
        const name = pod?.metadata.name ?? '';
        const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } };
        await client.resource(pods).namespace('default').subresource(name, 'eviction', eviction);
      },
    ],
    outcome: [podDisruptionBudgets],
    rest: '3m',
  });
  expect(writes).toBeGreaterThan(1);
  expect(outcome).toMatchObject([
    { status: { disruptionsAllowed: 1, currentHealthy: 2, expectedPods: 2 } },
  ]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
