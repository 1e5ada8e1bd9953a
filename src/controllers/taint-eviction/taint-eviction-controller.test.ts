import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { events, nodes, pods, type Toleration } from '#api/groups/core/v1/index.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { mayStay } from './decision.ts';
import { TaintEvictionController } from './index.ts';

describe('mayStay', () => {
  const taint = (key: string, effect = 'NoExecute', value?: string) => ({ key, effect, value });
  test.each<[string, object[], Toleration[], object]>([
    ['no taints', [], [], { kind: 'forever' }],
    [
      'taints of other effects',
      [taint('a', 'NoSchedule'), taint('b', 'PreferNoSchedule')],
      [],
      { kind: 'forever' },
    ],
    ['not tolerated', [taint('a')], [{ key: 'b', operator: 'Exists' }], { kind: 'evict' }],
    ['tolerated', [taint('a', 'NoExecute', 'x')], [{ key: 'a', value: 'x' }], { kind: 'forever' }],
    [
      'another value',
      [taint('a', 'NoExecute', 'x')],
      [{ key: 'a', value: 'y' }],
      { kind: 'evict' },
    ],
    [
      'another effect',
      [taint('a')],
      [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
      { kind: 'evict' },
    ],
    [
      'everything tolerated',
      [taint('a'), taint('b')],
      [{ operator: 'Exists' }],
      { kind: 'forever' },
    ],
    [
      'for a time',
      [taint('a')],
      [{ key: 'a', operator: 'Exists', tolerationSeconds: 60 }],
      { kind: 'limited', seconds: 60 },
    ],
    [
      'for no time',
      [taint('a')],
      [{ key: 'a', operator: 'Exists', tolerationSeconds: -1 }],
      { kind: 'evict' },
    ],
    [
      'the shortest of several times',
      [taint('a'), taint('b'), taint('c')],
      [
        { key: 'a', operator: 'Exists', tolerationSeconds: 60 },
        { key: 'b', operator: 'Exists', tolerationSeconds: 30 },
        { key: 'c', operator: 'Exists' },
      ],
      { kind: 'limited', seconds: 30 },
    ],
  ])('%s', (_, taints, tolerations, expected) => {
    expect(mayStay(taints as Parameters<typeof mayStay>[0], tolerations)).toEqual(expected);
  });
});

describe('TaintEvictionController', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.client.resource(nodes).create({ metadata: { name: 'n1' } });
  });
  afterEach(() => cluster.stop());

  const podClient = () => cluster.client.resource(pods).namespace('default');
  const add = (name: string, ...tolerations: Toleration[]) =>
    podClient().create({
      metadata: { name, finalizers: ['example.com/keep'] },
      spec: { nodeName: 'n1', tolerations, containers: [{ name: 'c', image: 'i' }] },
    });
  const setTaints = async (...keys: string[]) => {
    const taints = keys.map((key) => ({ key, effect: 'NoExecute' }));
    await cluster.client
      .resource(nodes)
      .patch('n1', 'application/merge-patch+json', { spec: { taints } });
    await cluster.clock.settle();
  };
  const leaving = async () =>
    (await podClient().list()).items
      .filter(({ metadata }) => metadata.deletionTimestamp)
      .map(({ metadata }) => metadata.name);
  const messages = async () =>
    (await cluster.client.resource(events).namespace('default').list()).items.map(
      ({ message }) => message,
    );
  const briefly: Toleration = {
    key: 'bad',
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 60,
  };

  test('evicts pods without a toleration at once, others after their tolerationSeconds, and records why', async () => {
    await cluster.run((config) => new TaintEvictionController(config));
    await add('none');
    await add('brief', briefly);
    await add('always', { key: 'bad', operator: 'Exists' });
    await setTaints('bad');
    expect(await leaving()).toEqual(['none']);
    await cluster.clock.advance('59s');
    expect(await leaving()).toEqual(['none']);
    await cluster.clock.advance('1s');
    expect(await leaving()).toEqual(['brief', 'none']);
    await cluster.clock.advance('10m');
    expect(await leaving()).toEqual(['brief', 'none']);
    expect((await messages()).sort()).toEqual([
      'Marking for deletion Pod default/brief',
      'Marking for deletion Pod default/none',
    ]);
    expect((await podClient().get('none')).status.conditions).toMatchObject([
      { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' },
    ]);
  });

  test('keeps a pod if the taint is removed in time, and restarts the countdown when it returns', async () => {
    await cluster.run((config) => new TaintEvictionController(config));
    await add('brief', briefly);
    await setTaints('bad');
    await cluster.clock.advance('50s');
    await setTaints();
    await cluster.clock.advance('20s');
    expect(await leaving()).toEqual([]);
    expect(await messages()).toEqual(['Cancelling deletion of Pod default/brief']);
    await setTaints('bad');
    await cluster.clock.advance('50s');
    expect(await leaving()).toEqual([]);
    await cluster.clock.advance('10s');
    expect(await leaving()).toEqual(['brief']);
  });

  test('continues the countdown when other taints change', async () => {
    await cluster.run((config) => new TaintEvictionController(config));
    await add('brief', briefly, { key: 'other', operator: 'Exists' });
    await setTaints('bad');
    await cluster.clock.advance('40s');
    await setTaints('bad', 'other');
    await cluster.clock.advance('20s');
    expect(await leaving()).toEqual(['brief']);
  });

  test('evicts pods that are bound to a tainted node, and pods that are there at its start', async () => {
    await setTaints('bad');
    await add('first');
    await cluster.run((config) => new TaintEvictionController(config));
    expect(await leaving()).toEqual(['first']);
    await add('second');
    await cluster.clock.settle();
    expect(await leaving()).toEqual(['first', 'second']);
  });
});
