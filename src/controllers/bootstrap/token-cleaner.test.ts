import { expect, test } from 'vitest';
import { secrets } from '#api/groups/core/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { BootstrapTokenCleaner } from './index.ts';

const addToken = async (
  { client, clock }: TestCluster,
  name: string,
  expiration: string | number | undefined,
  type = 'bootstrap.kubernetes.io/token',
) => {
  const text =
    typeof expiration === 'number' ? new Date(clock.now() + expiration).toISOString() : expiration;
  const data = text === undefined ? {} : { expiration: Buffer.from(text).toString('base64') };
  await client
    .resource(secrets)
    .create({ metadata: { name, namespace: 'kube-system' }, type, data });
};

test('tokens are deleted when they expire, after every fault; others stay', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new BootstrapTokenCleaner(config),
    steps: [
      async (cluster) => {
        await addToken(cluster, 'soon', 30_000);
        await addToken(cluster, 'later', 600_000);
        await addToken(cluster, 'never', undefined);
        await addToken(cluster, 'unreadable', 'tomorrow');
        await addToken(cluster, 'other', -1000, 'Opaque');
      },
    ],
    outcome: [secrets],
    rest: '1m',
  });
  expect(writes).toBe(2);
  const names = outcome
    .map((object) => (object as { metadata: { name: string } }).metadata.name)
    .toSorted();
  expect(names).toEqual(['later', 'never', 'other']);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
