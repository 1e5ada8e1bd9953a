import { expect, test } from 'vitest';
import { type Job, jobs } from '#api/groups/batch/v1/index.ts';
import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { JobController } from './index.ts';

/** Ends every running pod. The pods of index 1, or the first pod of all, fail the first time. */
async function endPods({ client, clock }: TestCluster): Promise<void> {
  const { items } = await client.resource(pods).namespace('default').list();
  const isOpen = ({ metadata, status }: Immutable<Pod>) =>
    metadata.deletionTimestamp === undefined &&
    !['Succeeded', 'Failed'].includes(status.phase ?? '');
  const indexOf = ({ metadata }: Immutable<Pod>) =>
    metadata.annotations?.['batch.kubernetes.io/job-completion-index'];
  const hasFailed = (index: string | undefined) =>
    items.some((pod) => pod.status.phase === 'Failed' && indexOf(pod) === index);
  for (const pod of items.filter(isOpen)) {
    const fails = indexOf(pod) === '1' && !hasFailed('1');
    await client
      .resource(pods)
      .namespace('default')
      .patch(
        pod.metadata.name,
        'application/merge-patch+json',
        { status: { phase: fails ? 'Failed' : 'Succeeded' } },
        { subresource: 'status' },
      );
  }
  await clock.advance('1m');
}

const job = (spec: object): New<Job> => ({
  metadata: { name: 'work', namespace: 'default' },
  spec: {
    completions: 3,
    parallelism: 2,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox:1' }] } },
    ...spec,
  },
});

test.each([
  ['a job', {}, 'Complete'],
  ['an indexed job', { completionMode: 'Indexed' }, 'Complete'],
  ['a job that fails', { completionMode: 'Indexed', completions: 2, backoffLimit: 0 }, 'Failed'],
  [
    'a job with limits by index',
    { completionMode: 'Indexed', backoffLimitPerIndex: 1 },
    'Complete',
  ],
])('%s ends the same, whatever goes wrong, and counts each pod once', async (_, spec, end) => {
  const { writes, events, outcome, disturbed } = await disturb({
    subject: (config) => new JobController(config),
    steps: [
      async ({ client }) => void (await client.resource(jobs).create(job(spec))),
      endPods,
      endPods,
      endPods,
    ],
    outcome: [jobs, pods],
    rest: '2m',
  });
  expect([writes, events].every((count) => count > 5)).toBe(true);
  const [done] = outcome as [{ status: { conditions: { type: string }[] } }];
  expect(done.status.conditions.map(({ type }) => type)).toContain(end);
  for (const [what, other] of disturbed) expect(other, what).toEqual(outcome);
});
