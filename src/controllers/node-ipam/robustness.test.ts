import { expect, test } from 'vitest';
import { type Node, nodes } from '#api/groups/core/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { NodeIpamController } from './index.ts';

test('every node has a unique range, after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    // There are four ranges: three are in use at the same time, and all four over the test.
    subject: (config) => new NodeIpamController({ ...config, clusterCidrs: ['10.244.0.0/22'] }),
    steps: [
      async ({ client }) => {
        for (const name of ['a', 'b']) await client.resource(nodes).create({ metadata: { name } });
      },
      async ({ client }) => void (await client.resource(nodes).delete('a')),
      async ({ client }) => {
        for (const name of ['c', 'd']) await client.resource(nodes).create({ metadata: { name } });
      },
    ],
    outcome: [nodes],
    rest: '5m',
  });
  expect(writes).toBe(4);
  const ranges = (end: readonly unknown[]) =>
    (end as readonly Node[]).map(
      ({ metadata, spec }) => [metadata.name, spec.podCIDR ?? 'none'] as const,
    );
  expect(ranges(outcome).map(([name]) => name)).toEqual(['b', 'c', 'd']);
  for (const [what, end] of [['nothing', outcome] as const, ...disturbed]) {
    const given = ranges(end).map(([, range]) => range);
    expect(given, what).not.toContain('none');
    expect(new Set(given).size, what).toBe(3);
  }
});
