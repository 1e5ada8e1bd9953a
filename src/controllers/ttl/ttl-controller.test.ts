import { expect, test } from 'vitest';
import { nodes } from '#api/groups/core/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster } from '../testing/test-cluster.ts';
import { TTL_ANNOTATION, TtlController } from './index.ts';
import { nextStep } from './ttl-controller.ts';

test.each([
  [0, 1, 0],
  [0, 100, 0],
  [0, 101, 1],
  [1, 90, 1],
  [1, 89, 0],
  [0, 12_000, 5],
  [5, 3, 0],
])('from step %i with %i nodes to step %i', (step, count, expected) => {
  expect(nextStep(step, count)).toBe(expected);
});

test('annotates nodes, and updates all annotations when the number of nodes grows much', async () => {
  const cluster = await startTestCluster();
  try {
    await cluster.run((config) => new TtlController(config));
    const client = cluster.client.resource(nodes);
    const annotations = async () =>
      (await client.list()).items.map(({ metadata }) => metadata.annotations?.[TTL_ANNOTATION]);
    await client.create({ metadata: { name: 'n0' } });
    await cluster.clock.settle();
    expect(await annotations()).toEqual(['0']);
    for (let i = 1; i <= 100; i++) await client.create({ metadata: { name: `n${i}` } });
    await cluster.clock.settle();
    expect(new Set(await annotations())).toEqual(new Set(['15']));
  } finally {
    await cluster.stop();
  }
});

test('reaches the same outcome after every fault', async () => {
  const { outcome, disturbed } = await disturb({
    subject: (config) => new TtlController(config),
    steps: [
      async ({ client }) => {
        for (const name of ['n1', 'n2'])
          await client.resource(nodes).create({ metadata: { name } });
      },
    ],
    outcome: [nodes],
    rest: '1m',
  });
  expect(outcome).toMatchObject(
    [1, 2].map(() => ({ metadata: { annotations: { [TTL_ANNOTATION]: '0' } } })),
  );
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
