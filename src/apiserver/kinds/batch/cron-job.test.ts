import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  type ResourceRequests,
  startWorkloadServer,
  type WorkloadServer,
} from '#apiserver/testing/workloads.ts';

let t: WorkloadServer;
let cronJobs: ResourceRequests;
beforeEach(async () => {
  t = await startWorkloadServer();
  cronJobs = t.resource('/apis/batch/v1/namespaces/default/cronjobs');
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const cronJob = (spec: object = {}, podSpec: object = {}) => ({
  metadata: { name: 'backup' },
  spec: {
    schedule: '0 3 * * *',
    jobTemplate: {
      spec: {
        template: {
          spec: { restartPolicy: 'OnFailure', containers: [{ name: 'c', image: 'i' }], ...podSpec },
        },
      },
    },
    ...spec,
  },
});

describe('cron jobs', () => {
  test('are created with defaults and without a status', async () => {
    const { code, object } = await cronJobs.create({
      ...cronJob(),
      status: { lastScheduleTime: '2026-01-01T00:00:00Z' },
    });
    expect(code).toBe(201);
    expect(object.metadata.generation).toBe(1);
    expect(object.status).toEqual({});
    expect(object.spec).toMatchObject({
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
    });
  });

  test('are rejected with every cause', async () => {
    const { code, causes } = await cronJobs.create(
      cronJob({ schedule: 'daily', timeZone: 'Mars' }, { restartPolicy: 'Always' }),
    );
    expect(code).toBe(422);
    expect(causes).toEqual([
      'spec.schedule',
      'spec.timeZone',
      'spec.jobTemplate.spec.template.spec.restartPolicy',
    ]);
  });

  test('without a name are rejected for that, too', async () => {
    const { code, causes } = await cronJobs.create({ spec: { ...cronJob().spec, schedule: '' } });
    expect([code, causes]).toEqual([422, ['metadata.name', 'spec.schedule']]);
  });

  test('warn about their pod template', async () => {
    const { warnings } = await cronJobs.create(cronJob({}, { terminationGracePeriodSeconds: -1 }));
    expect(warnings).toEqual([
      'spec.jobTemplate.spec.template.spec.terminationGracePeriodSeconds: must be >= 0; ' +
        'negative values are invalid and will be treated as 1',
    ]);
    expect((await cronJobs.patch('backup', { metadata: { labels: { a: 'b' } } })).warnings).toEqual(
      [],
    );
    expect((await cronJobs.patch('backup', { spec: { suspend: true } })).warnings).toHaveLength(1);
  });

  test('can be changed, and count changes', async () => {
    await cronJobs.create(cronJob());
    const changed = await cronJobs.patch('backup', {
      spec: { schedule: '@hourly' },
      status: { active: [{ name: 'x' }] },
    });
    expect([changed.code, changed.object.metadata.generation, changed.object.status]).toEqual([
      200,
      2,
      {},
    ]);
    const refused = await cronJobs.patch('backup', { spec: { schedule: 'TZ=UTC @hourly' } });
    expect([refused.code, refused.causes]).toEqual([422, ['spec.schedule']]);
  });

  test('have a separate status', async () => {
    await cronJobs.create(cronJob());
    const status = {
      lastScheduleTime: '2026-01-01T00:00:00Z',
      active: [{ kind: 'Job', name: 'backup-1' }],
    };
    const changed = await cronJobs.patch('backup/status', { spec: { suspend: true }, status });
    expect(changed.object.status).toEqual(status);
    expect(changed.object.spec).toMatchObject({ suspend: false });
    expect(changed.object.metadata.generation).toBe(1);
  });

  test('are deleted with their jobs', async () => {
    await cronJobs.create(cronJob());
    await cronJobs.delete('backup');
    expect((await cronJobs.get('backup')).code).toBe(404);
  });

  test('have a table', async () => {
    await cronJobs.create(cronJob({ timeZone: 'Europe/Berlin' }));
    const { columns, rows } = await cronJobs.table();
    expect(columns.slice(0, 7)).toEqual([
      'Name',
      'Schedule',
      'Timezone',
      'Suspend',
      'Active',
      'Last Schedule',
      'Age',
    ]);
    expect(rows).toEqual([
      ['backup', '0 3 * * *', 'Europe/Berlin', 'False', 0, '<none>', '0s', 'c', 'i', '<none>'],
    ]);
  });
});
