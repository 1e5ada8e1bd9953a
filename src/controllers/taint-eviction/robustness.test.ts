import { expect, test } from 'vitest';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { TaintEvictionController } from './index.ts';

const taint = { key: 'example.com/leave', effect: 'NoExecute' };
const tolerates = (tolerationSeconds?: number) => ({
  ...taint,
  operator: 'Exists',
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
});

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new TaintEvictionController(config),
    steps: [
      async ({ client }) => {
        await client.resource(nodes).create({ metadata: { name: 'n1' } });
        const inDefault = client.resource(pods).namespace('default');
        const add = (name: string, tolerations: object[]) =>
          inDefault.create({
            metadata: { name },
            spec: { nodeName: 'n1', tolerations, containers: [{ name: 'c', image: 'i' }] },
          });
        await add('goes', []);
        await add('goes-later', [tolerates(60)]);
        await add('stays', [tolerates()]);
      },
      async ({ client }) => {
        await client
          .resource(nodes)
          .patch('n1', 'application/merge-patch+json', { spec: { taints: [taint] } });
      },
    ],
    outcome: [pods],
    rest: '2m',
  });
  // A condition and a deletion for each pod.
  expect(writes).toBe(4);
  const leaving = outcome.filter(
    (pod) => 'deletionTimestamp' in (pod as { metadata: object }).metadata,
  );
  expect([outcome.length, leaving.length]).toEqual([3, 2]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
