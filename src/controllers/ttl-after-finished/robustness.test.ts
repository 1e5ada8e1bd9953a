import { expect, test } from 'vitest';
import { jobs } from '#api/groups/batch/v1/index.ts';
import { pods } from '#api/groups/core/v1/index.ts';
import { GarbageCollector } from '../garbage-collector/index.ts';
import { JobController } from '../job/index.ts';
import { disturb } from '../testing/robustness.ts';
import { TtlAfterFinishedController } from './index.ts';

test('jobs are deleted after their time to live and not before, after every fault', async () => {
  const job = (name: string, ttlSecondsAfterFinished?: number) => ({
    metadata: { name, namespace: 'default' },
    spec: {
      ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }),
      completions: 0,
      template: {
        spec: {
          restartPolicy: 'Never' as const,
          containers: [{ name: 'c', image: 'busybox:1' }],
        },
      },
    },
  });
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new TtlAfterFinishedController(config),
    others: [(config) => new JobController(config), (config) => new GarbageCollector(config)],
    steps: [
      async ({ client }) => {
        await client.resource(jobs).create(job('soon', 30));
        await client.resource(jobs).create(job('later', 3600));
        await client.resource(jobs).create(job('never'));
      },
    ],
    outcome: [jobs, pods],
    rest: '2m',
  });
  expect(writes).toBe(1);
  expect(outcome).toMatchObject([{ metadata: { name: 'later' } }, { metadata: { name: 'never' } }]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
