import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cronJobs, type CronJobSpec, jobs } from '#api/groups/batch/v1/index.ts';
import { events, pods } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { JobController } from '../job/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { TtlAfterFinishedController } from '../ttl-after-finished/index.ts';
import { CronJobController } from './index.ts';

const template = {
  spec: {
    template: {
      spec: { restartPolicy: 'Never' as const, containers: [{ name: 'c', image: 'busybox:1' }] },
    },
  },
};
const cronJob = (spec: New<CronJobSpec>) => ({
  metadata: { name: 'tick', namespace: 'default' },
  spec: { schedule: '0 * * * *', jobTemplate: template, ...spec },
});

/** Ends every present pod in this phase. */
async function endPods(cluster: TestCluster, phase = 'Succeeded'): Promise<void> {
  const inDefault = cluster.client.resource(pods).namespace('default');
  for (const { metadata, status } of (await inDefault.list()).items) {
    if (status.phase !== 'Pending') continue;
    await inDefault.patch(
      metadata.name,
      'application/merge-patch+json',
      { status: { phase } },
      { subresource: 'status' },
    );
  }
  await cluster.clock.settle();
}

describe('a cron job', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.run((config) => new CronJobController(config));
    await cluster.run((config) => new JobController(config));
  });
  afterEach(() => cluster.stop());

  const client = () => cluster.client.resource(cronJobs).namespace('default');
  const create = async (spec: New<CronJobSpec> = {}) => {
    await client().create(cronJob(spec));
    await cluster.clock.settle();
  };
  const status = async () => (await client().get('tick')).status;
  const jobList = async () =>
    (await cluster.client.resource(jobs).namespace('default').list()).items;
  const jobTimes = async () =>
    (await jobList()).map(
      ({ metadata }) => metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'],
    );
  const messages = async () =>
    (await cluster.client.resource(events).namespace('default').list()).items
      .filter(({ involvedObject }) => involvedObject.kind === 'CronJob')
      .map(({ reason, message }) => `${reason}: ${message}`);

  test('starts a job each time, named after the minute, and records active jobs and the last success', async () => {
    await create();
    expect(await jobList()).toEqual([]);
    await cluster.clock.advance('61m');
    const [job] = await jobList();
    expect(job?.metadata).toMatchObject({
      name: `tick-${Date.parse('2026-01-01T01:00:00Z') / 60_000}`,
      annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T01:00:00Z' },
      ownerReferences: [{ kind: 'CronJob', name: 'tick', controller: true }],
    });
    expect(await status()).toMatchObject({
      active: [{ kind: 'Job', name: job?.metadata.name }],
      lastScheduleTime: '2026-01-01T01:00:00Z',
    });
    await endPods(cluster);
    expect(await status()).toEqual({
      lastScheduleTime: '2026-01-01T01:00:00Z',
      lastSuccessfulTime: '2026-01-01T01:01:00Z',
    });
    expect(await messages()).toEqual(
      expect.arrayContaining([
        `SuccessfulCreate: Created job ${job?.metadata.name}`,
        `SawCompletedJob: Saw completed job: ${job?.metadata.name}, condition: Complete`,
      ]),
    );
  });

  test('keeps the configured number of finished jobs', async () => {
    await create({
      successfulJobsHistoryLimit: 2,
      failedJobsHistoryLimit: 1,
      jobTemplate: { spec: { ...template.spec, backoffLimit: 0 } },
    });
    for (const phase of ['Succeeded', 'Failed', 'Succeeded', 'Succeeded', 'Failed']) {
      await cluster.clock.advance('1h');
      await cluster.clock.advance('1s');
      await endPods(cluster, phase);
    }
    expect(await jobTimes()).toEqual([
      '2026-01-01T03:00:00Z',
      '2026-01-01T04:00:00Z',
      '2026-01-01T05:00:00Z',
    ]);
  });

  test.each([
    ['Allow', ['01', '02', '03'], 3],
    ['Forbid', ['01'], 1],
    ['Replace', ['03'], 1],
  ] as const)(
    '%s: what becomes of a job that still runs',
    async (concurrencyPolicy, hours, active) => {
      await create({ concurrencyPolicy });
      await cluster.clock.advance('3h1m');
      expect(await jobTimes()).toEqual(hours.map((hour) => `2026-01-01T${hour}:00:00Z`));
      expect((await status()).active).toHaveLength(active);
      if (concurrencyPolicy === 'Forbid') {
        expect(await messages()).toContain(
          'JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid',
        );
      }
    },
  );

  test('starts no job while suspended; one job makes up for missed times, within the deadline', async () => {
    await create({ suspend: true });
    await cluster.clock.advance('5h30m');
    expect(await jobList()).toEqual([]);
    await client().patch('tick', 'application/merge-patch+json', { spec: { suspend: false } });
    await cluster.clock.settle();
    expect(await jobTimes()).toEqual(['2026-01-01T05:00:00Z']);
    await client().patch('tick', 'application/merge-patch+json', {
      spec: { suspend: true, startingDeadlineSeconds: 60 },
    });
    await cluster.clock.advance('2h');
    await client().patch('tick', 'application/merge-patch+json', { spec: { suspend: false } });
    await cluster.clock.settle();
    expect(await jobTimes()).toHaveLength(1);
  });

  test('records an event if its schedule is never due', async () => {
    await create({ schedule: '59 23 31 2 *' });
    await cluster.clock.advance('1m');
    expect(await messages()).toEqual([
      'InvalidSchedule: invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second',
    ]);
  });

  test('records an event if an active job is missing', async () => {
    await create();
    await cluster.clock.advance('61m');
    const [job] = await jobList();
    await cluster.client
      .resource(jobs)
      .namespace('default')
      .delete(job!.metadata.name, { propagationPolicy: 'Background' });
    await cluster.clock.settle();
    expect((await status()).active).toBeUndefined();
    expect(await messages()).toContain(
      `MissingJob: Active job went missing: ${job?.metadata.name}`,
    );
  });
});

test('a cron job keeps to the hour of its time zone in the week in which summer time begins', async () => {
  const cluster = await startTestCluster({ startMs: Date.parse('2026-03-05T12:00:00Z') });
  await cluster.run((config) => new CronJobController(config));
  await cluster.run((config) => new JobController(config));
  await cluster.client.resource(cronJobs).create(
    cronJob({
      schedule: '30 2 * * *',
      timeZone: 'America/New_York',
      successfulJobsHistoryLimit: 10,
    }),
  );
  for (let day = 0; day < 7; day++) {
    await cluster.clock.advance('24h');
    await endPods(cluster);
  }
  const { items } = await cluster.client.resource(jobs).namespace('default').list();
  expect(
    items.map(
      ({ metadata }) => metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'],
    ),
  ).toEqual([
    '2026-03-06T07:30:00Z',
    '2026-03-07T07:30:00Z',
    // On 8 March there is no 2:30.
    '2026-03-09T06:30:00Z',
    '2026-03-10T06:30:00Z',
    '2026-03-11T06:30:00Z',
    '2026-03-12T06:30:00Z',
  ]);
  await cluster.stop();
});

test('there is one job for each time, after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new CronJobController(config),
    others: [(config) => new JobController(config)],
    steps: [
      async ({ client }) =>
        void (await client.resource(cronJobs).create(cronJob({ successfulJobsHistoryLimit: 1 }))),
      endPods,
      endPods,
      endPods,
    ],
    outcome: [cronJobs, jobs],
    rest: '1h',
  });
  expect(writes).toBeGreaterThan(8);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});

test('a finished job is deleted when its time to live is over, and not before', async () => {
  const cluster = await startTestCluster();
  await cluster.run((config) => new JobController(config));
  await cluster.run((config) => new TtlAfterFinishedController(config));
  const client = cluster.client.resource(jobs).namespace('default');
  await client.create({
    metadata: { name: 'brief' },
    spec: { ...template.spec, ttlSecondsAfterFinished: 60 },
  });
  await client.create({ metadata: { name: 'kept' }, spec: template.spec });
  await cluster.clock.settle();
  await endPods(cluster);
  await cluster.clock.advance('59s');
  expect((await client.list()).items.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([
    undefined,
    undefined,
  ]);
  await client.patch('brief', 'application/merge-patch+json', {
    spec: { ttlSecondsAfterFinished: 120 },
  });
  await cluster.clock.advance('30s');
  expect((await client.get('brief')).metadata.deletionTimestamp).toBeUndefined();
  await cluster.clock.advance('40s');
  // The job's pods are deleted first.
  expect((await client.get('brief')).metadata.finalizers).toEqual(['foregroundDeletion']);
  expect((await client.get('kept')).metadata.deletionTimestamp).toBeUndefined();
  await cluster.stop();
});
