import { expect, test } from 'vitest';
import { configMaps, namespaces } from '#api/groups/core/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { RootCaPublisher } from './index.ts';

const NAME = 'kube-root-ca.crt';

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new RootCaPublisher({ ...config, rootCa: 'PEM' }),
    steps: [
      async ({ client }) =>
        void (await client.resource(namespaces).create({ metadata: { name: 'x' } })),
      async ({ client }) => {
        const maps = client.resource(configMaps).namespace('x');
        await maps
          .patch(NAME, 'application/merge-patch+json', { data: { 'ca.crt': 'other' } })
          .catch(() => undefined);
      },
      async ({ client }) => {
        const maps = client.resource(configMaps).namespace('x');
        await maps.delete(NAME).catch(() => undefined);
      },
    ],
    outcome: [configMaps],
    rest: '1m',
  });
  expect(writes).toBe(7);
  expect(outcome).toHaveLength(5);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
