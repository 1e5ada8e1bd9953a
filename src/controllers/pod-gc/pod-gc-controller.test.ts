import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nodes, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { type PodGcConfig, PodGcController } from './index.ts';
import { terminatedOverLimit } from './pod-gc-controller.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.client.resource(nodes).create({ metadata: { name: 'n1' } });
});
afterEach(() => cluster.stop());

const podClient = () => cluster.client.resource(pods).namespace('default');
const start = (change: Partial<PodGcConfig> = {}) =>
  cluster.run((config) => new PodGcController({ ...config, ...change }));
const add = (name: string, nodeName?: string, finalizers?: string[]) =>
  podClient().create({
    metadata: { name, finalizers },
    spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
  });
const setPhase = (name: string, phase: string) =>
  podClient().patch(
    name,
    'application/merge-patch+json',
    { status: { phase } },
    { subresource: 'status' },
  );
const names = async () =>
  (await podClient().list()).items.map(({ metadata }) => metadata.name).sort();

describe('PodGcController', () => {
  test('deletes pods of a missing node after the quarantine, and sets their phase to Failed first', async () => {
    await add('here', 'n1');
    await add('lost', 'n2');
    await add('kept', 'n2', ['example.com/wait']);
    await add('waiting');
    await start();
    await cluster.clock.advance('39s');
    expect(await names()).toEqual(['here', 'kept', 'lost', 'waiting']);
    await cluster.clock.advance('2s');
    expect(await names()).toEqual(['here', 'kept', 'waiting']);
    expect((await podClient().get('kept')).status).toMatchObject({
      phase: 'Failed',
      conditions: expect.arrayContaining([
        expect.objectContaining({
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'DeletionByPodGC',
          message: 'PodGC: node no longer exists',
          observedGeneration: 1,
        }),
      ]),
    });
  });

  test('asks the server before it acts on a node that is missing in the cache', async () => {
    cluster.faults.hold('/api/v1/nodes');
    await start();
    await cluster.client.resource(nodes).create({ metadata: { name: 'n2' } });
    await add('fine', 'n2');
    await cluster.clock.advance('3m');
    expect(await names()).toEqual(['fine']);
  });

  test('deletes terminating pods of an out-of-service node, and finished pods over the threshold', async () => {
    await add('stuck', 'n1');
    await podClient().delete('stuck');
    for (const name of ['old', 'middle', 'new']) {
      await add(name, 'n1');
      await setPhase(name, 'Succeeded');
      await cluster.clock.advance('1m');
    }
    await start({ terminatedPodThreshold: 2 });
    await cluster.clock.advance('20s');
    expect(await names()).toEqual(['middle', 'new', 'stuck']);
    const taint = {
      key: 'node.kubernetes.io/out-of-service',
      value: 'nodeshutdown',
      effect: 'NoExecute',
    };
    await cluster.client
      .resource(nodes)
      .patch('n1', 'application/merge-patch+json', { spec: { taints: [taint] } });
    await cluster.clock.advance('20s');
    expect(await names()).toEqual(['middle', 'new']);
  });

  test('sets the phase Failed without a condition for other reasons', async () => {
    await add('unplaced', undefined, ['example.com/wait']);
    await podClient().delete('unplaced');
    await start();
    await cluster.clock.advance('20s');
    const { phase, conditions = [] } = (await podClient().get('unplaced')).status;
    expect([phase, conditions.filter(({ type }) => type === 'DisruptionTarget')]).toEqual([
      'Failed',
      [],
    ]);
  });
});

describe('terminatedOverLimit', () => {
  const pod = (name: string, phase: string, creationTimestamp: string) =>
    ({ metadata: { name, creationTimestamp }, status: { phase } }) as unknown as Immutable<Pod>;

  test('chooses the oldest finished pods', () => {
    const all = [
      pod('b', 'Failed', '2026-01-02T00:00:00Z'),
      pod('a', 'Succeeded', '2026-01-01T00:00:00Z'),
      pod('r', 'Running', '2020-01-01T00:00:00Z'),
      pod('c', 'Failed', '2026-01-03T00:00:00Z'),
    ];
    expect(terminatedOverLimit(all, 1).map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    const evicted = {
      ...pod('e', 'Failed', '2026-01-04T00:00:00Z'),
      status: { phase: 'Failed', reason: 'Evicted' },
    } as Immutable<Pod>;
    expect(terminatedOverLimit([...all, evicted], 2).map(({ metadata }) => metadata.name)).toEqual([
      'e',
      'a',
    ]);
    expect(terminatedOverLimit(all, 3)).toEqual([]);
    expect(terminatedOverLimit(all, 0)).toEqual([]);
  });
});
