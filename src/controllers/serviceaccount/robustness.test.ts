import { expect, test } from 'vitest';
import { namespaces, serviceAccounts } from '#api/groups/core/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { ServiceAccountsController } from './index.ts';

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new ServiceAccountsController(config),
    steps: [
      async ({ client }) =>
        void (await client.resource(namespaces).create({ metadata: { name: 'x' } })),
      async ({ client }) =>
        void (await client.resource(serviceAccounts).namespace('x').delete('default')),
    ],
    outcome: [serviceAccounts],
    rest: '1m',
  });
  // One account for each initial namespace except `default`, which has its own here; and two for x.
  expect(writes).toBe(5);
  expect(outcome).toHaveLength(5);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
