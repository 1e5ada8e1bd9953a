import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { controllerRevisions, daemonSets, type DaemonSetSpec } from '#api/groups/apps/v1/index.ts';
import { events, nodes, type NodeSpec, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { DaemonSetController } from './index.ts';
import { targetNodeOf } from './placement.ts';

const STRATEGIC = 'application/strategic-merge-patch+json';

describe('a daemon set', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.run((config) => new DaemonSetController(config));
  });
  afterEach(() => cluster.stop());

  const client = () => cluster.client.resource(daemonSets).namespace('default');
  const podClient = () => cluster.client.resource(pods).namespace('default');
  const addNode = async (
    name: string,
    spec: New<NodeSpec> = {},
    labels: Record<string, string> = {},
  ) => {
    const created = await cluster.client
      .resource(nodes)
      .create({ metadata: { name, labels }, spec });
    await cluster.clock.settle();
    return created;
  };
  const create = async (spec: New<DaemonSetSpec> = {}, podSpec: object = {}) => {
    await client().create({
      metadata: { name: 'agent', namespace: 'default' },
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        template: {
          metadata: { labels: { app: 'agent' } },
          spec: { containers: [{ name: 'c', image: 'agent:1' }], ...podSpec },
        },
        ...spec,
      },
    });
    await cluster.clock.settle();
  };
  const setImage = async (image: string) => {
    await client().patch('agent', STRATEGIC, {
      spec: { template: { spec: { containers: [{ name: 'c', image }] } } },
    });
    await cluster.clock.settle();
  };
  const podList = async () => (await podClient().list()).items;
  const places = async () =>
    (await podList())
      .map((pod) => `${targetNodeOf(pod)} ${pod.spec.containers[0]?.image}`)
      .toSorted();
  const status = async () => (await client().get('agent')).status;
  const revisionList = async () =>
    (await cluster.client.resource(controllerRevisions).namespace('default').list()).items;
  const setStatus = async (
    { metadata: { name } }: { metadata: { name: string } },
    podStatus: New<Pod['status']>,
  ) => {
    await podClient().patch(name, STRATEGIC, { status: podStatus }, { subresource: 'status' });
    await cluster.clock.settle();
  };
  const makeReady = async () => {
    const lastTransitionTime = formatTime(cluster.clock.now());
    for (const pod of await podList()) {
      if (pod.status.phase !== 'Pending') continue;
      await setStatus(pod, {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }],
      });
    }
  };
  const messages = async () =>
    (await cluster.client.resource(events).namespace('default').list()).items
      .filter(({ involvedObject }) => involvedObject.kind === 'DaemonSet')
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

  test('has a pod on each node, bound by node affinity, with tolerations of node conditions', async () => {
    await addNode('n1');
    await addNode('n2');
    await create();
    expect(await places()).toEqual(['n1 agent:1', 'n2 agent:1']);
    const [pod] = await podList();
    const [revision] = await revisionList();
    expect(pod?.metadata.labels).toEqual({
      app: 'agent',
      'controller-revision-hash': revision?.metadata.labels?.['controller-revision-hash'],
      'pod-template-generation': '1',
    });
    expect(revision?.metadata.name).toBe(
      `agent-${revision?.metadata.labels?.['controller-revision-hash']}`,
    );
    expect(pod?.metadata.ownerReferences).toMatchObject([
      { kind: 'DaemonSet', name: 'agent', controller: true, blockOwnerDeletion: true },
    ]);
    expect(pod?.spec.tolerations?.map(({ key, effect }) => `${key}:${effect}`)).toEqual([
      'node.kubernetes.io/not-ready:NoExecute',
      'node.kubernetes.io/unreachable:NoExecute',
      'node.kubernetes.io/disk-pressure:NoSchedule',
      'node.kubernetes.io/memory-pressure:NoSchedule',
      'node.kubernetes.io/pid-pressure:NoSchedule',
      'node.kubernetes.io/unschedulable:NoSchedule',
    ]);
    expect(await status()).toEqual({
      currentNumberScheduled: 2,
      desiredNumberScheduled: 2,
      numberMisscheduled: 0,
      numberReady: 0,
      numberUnavailable: 2,
      observedGeneration: 1,
      updatedNumberScheduled: 2,
    });
    await makeReady();
    expect(await status()).toMatchObject({ numberReady: 2, numberAvailable: 2 });
    await addNode('n3');
    expect(await places()).toHaveLength(3);
  });

  test.each([
    ['its selector', { nodeSelector: { disk: 'ssd' } }],
    [
      'its affinity',
      {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] },
              ],
            },
          },
        },
      },
    ],
  ])(
    'is only where %s wants it, and goes where it does not belong any more',
    async (_, podSpec) => {
      await addNode('n1', {}, { disk: 'ssd' });
      await addNode('n2', {}, { disk: 'hdd' });
      await create({}, podSpec);
      expect(await places()).toEqual(['n1 agent:1']);
      await cluster.client
        .resource(nodes)
        .patch('n2', STRATEGIC, { metadata: { labels: { disk: 'ssd' } } });
      await cluster.client
        .resource(nodes)
        .patch('n1', STRATEGIC, { metadata: { labels: { disk: null } } });
      await cluster.clock.settle();
      expect(await places()).toEqual(['n2 agent:1']);
      expect(await status()).toMatchObject({
        desiredNumberScheduled: 1,
        currentNumberScheduled: 1,
        numberMisscheduled: 0,
      });
    },
  );

  test('starts no pod on a tainted node, and removes a running pod for NoExecute only', async () => {
    await addNode('n1');
    await addNode('n2', { taints: [{ key: 'a', effect: 'NoSchedule' }] });
    await addNode('n3', { unschedulable: true });
    await create();
    expect(await places()).toEqual(['n1 agent:1', 'n3 agent:1']);
    const taint = async (effect: 'NoSchedule' | 'NoExecute') => {
      await cluster.client
        .resource(nodes)
        .patch('n1', STRATEGIC, { spec: { taints: [{ key: 'b', effect }] } });
      await cluster.clock.settle();
    };
    await taint('NoSchedule');
    expect(await places()).toHaveLength(2);
    expect(await status()).toMatchObject({ desiredNumberScheduled: 1, numberMisscheduled: 1 });
    await taint('NoExecute');
    expect(await places()).toEqual(['n3 agent:1']);
  });

  test('is updated node by node, and keeps its history within the limit', async () => {
    for (const name of ['n1', 'n2', 'n3']) await addNode(name);
    await create({ revisionHistoryLimit: 1 });
    await makeReady();
    await setImage('agent:2');
    expect((await places()).filter((place) => place.endsWith('2'))).toHaveLength(1);
    await cluster.clock.advance('1m');
    expect((await places()).filter((place) => place.endsWith('2'))).toHaveLength(1);
    for (let i = 0; i < 3; i++) await makeReady();
    expect(await places()).toEqual(['n1 agent:2', 'n2 agent:2', 'n3 agent:2']);
    expect(await status()).toMatchObject({
      updatedNumberScheduled: 3,
      numberAvailable: 3,
      observedGeneration: 2,
    });
    await setImage('agent:3');
    for (let i = 0; i < 3; i++) await makeReady();
    expect((await revisionList()).map(({ revision }) => revision).toSorted()).toEqual([2, 3]);
    await setImage('agent:2');
    expect((await revisionList()).map(({ revision }) => revision).toSorted()).toEqual([3, 4]);
  });

  test('surges: a new pod becomes ready beside the old one', async () => {
    await addNode('n1');
    await addNode('n2');
    await create({
      updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      minReadySeconds: 10,
    });
    await makeReady();
    await cluster.clock.advance('10s');
    await setImage('agent:2');
    expect(await places()).toHaveLength(3);
    await makeReady();
    expect(await places()).toHaveLength(3);
    await cluster.clock.advance('10s');
    expect((await places()).filter((place) => place.endsWith('1'))).toHaveLength(1);
    await makeReady();
    await cluster.clock.advance('10s');
    expect(await places()).toEqual(['n1 agent:2', 'n2 agent:2']);
  });

  test('keeps old pods until they are deleted, with the strategy OnDelete', async () => {
    await addNode('n1');
    await create({ updateStrategy: { type: 'OnDelete' } });
    await makeReady();
    await setImage('agent:2');
    expect(await places()).toEqual(['n1 agent:1']);
    const [pod] = await podList();
    await podClient().delete(pod?.metadata.name ?? '');
    await cluster.clock.settle();
    expect(await places()).toEqual(['n1 agent:2']);
  });

  test('replaces failed pods, with a longer delay after each failure', async () => {
    await addNode('n1');
    await create();
    const fail = async () => {
      const [pod] = await podList();
      await setStatus({ metadata: { name: pod?.metadata.name ?? '' } }, { phase: 'Failed' });
      return pod?.metadata.name;
    };
    const first = await fail();
    const [second] = await podList();
    expect(second?.metadata.name).not.toBe(first);
    await fail();
    expect((await podList())[0]?.metadata.name).toBe(second?.metadata.name);
    await cluster.clock.advance('1s');
    expect((await podList())[0]?.metadata.name).not.toBe(second?.metadata.name);
    expect(await messages()).toContain(
      `Warning FailedDaemonPod: Found failed daemon pod default/${first} on node n1, will try to kill it`,
    );
  });

  test('adopts matching pods, and removes pods that are bound to a deleted node', async () => {
    await addNode('n1');
    await podClient().create({
      metadata: { name: 'lonely', labels: { app: 'agent' } },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'agent:1' }] },
    });
    await create({ updateStrategy: { type: 'OnDelete' } });
    expect((await podList()).map(({ metadata }) => metadata.name)).toEqual(['lonely']);
    expect((await podList())[0]?.metadata.ownerReferences).toMatchObject([{ name: 'agent' }]);
    await addNode('n2');
    expect(await podList()).toHaveLength(2);
    await cluster.client.resource(nodes).delete('n2');
    await cluster.clock.settle();
    expect((await podList()).map(({ metadata }) => metadata.name)).toEqual(['lonely']);
  });
});
