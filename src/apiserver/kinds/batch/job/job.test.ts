import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { send } from '#apiserver/testing/requests.ts';
import {
  type ResourceRequests,
  startWorkloadServer,
  type WorkloadServer,
} from '#apiserver/testing/workloads.ts';
import { jobTable } from './index.ts';

let t: WorkloadServer;
let jobs: ResourceRequests;
beforeEach(async () => {
  t = await startWorkloadServer();
  jobs = t.resource('/apis/batch/v1/namespaces/default/jobs');
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const job = (
  spec: object = {},
  { labels, ...metadata }: { labels?: object; name?: string } = {},
  more: object = {},
) => ({
  metadata: { name: 'pi', ...metadata },
  spec: {
    template: {
      metadata: labels === undefined ? {} : { labels },
      spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
    },
    ...spec,
  },
  ...more,
});

const generated = (uid: string, name = 'pi') => ({
  'batch.kubernetes.io/controller-uid': uid,
  'batch.kubernetes.io/job-name': name,
  'controller-uid': uid,
  'job-name': name,
});
const templateLabels = (spec: Readonly<Record<string, unknown>>): unknown =>
  (spec['template'] as { metadata: { labels?: unknown } }).metadata.labels;

describe('the pods of a job', () => {
  test('are selected by labels that the server generates', async () => {
    const { code, object } = await jobs.create(job({}, {}, { status: { succeeded: 3 } }));
    expect(code).toBe(201);
    const { uid, labels, generation } = object.metadata;
    expect(generation).toBe(1);
    expect(object.status).toEqual({});
    expect(object.spec['selector']).toEqual({
      matchLabels: { 'batch.kubernetes.io/controller-uid': uid },
    });
    expect(templateLabels(object.spec)).toEqual(generated(uid));
    // A job without labels gets those of its pods.
    expect(labels).toEqual(generated(uid));
    expect(Object.keys(labels ?? {})).toEqual(Object.keys(labels ?? {}).sort());
    expect(object.spec).toMatchObject({ completions: 1, backoffLimit: 6, manualSelector: false });
  });

  test('keep their labels; the job has its own', async () => {
    const { object } = await jobs.create({
      ...job({}, { labels: { app: 'x' } }),
      metadata: { name: 'pi', labels: { app: 'x' } },
    });
    expect(templateLabels(object.spec)).toEqual({ app: 'x', ...generated(object.metadata.uid) });
    expect(object.metadata.labels).toEqual({ app: 'x' });
  });

  test('give the job their labels, if it has none', async () => {
    const { object } = await jobs.create(job({}, { labels: { app: 'x' } }));
    expect(object.metadata.labels).toEqual({ app: 'x', ...generated(object.metadata.uid) });
    const without = await jobs.patch('pi', { metadata: { labels: null } });
    expect(without.object.metadata.labels).toEqual(object.metadata.labels);
    expect(without.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });

  test('have labels even if the job’s name is generated', async () => {
    const { object } = await jobs.create({ ...job(), metadata: { generateName: 'pi-' } });
    expect(templateLabels(object.spec)).toEqual(
      generated(object.metadata.uid, object.metadata.name),
    );
  });

  test('cannot have the labels of another job', async () => {
    const { code, causes } = await jobs.create(job({}, { labels: { 'job-name': 'other' } }));
    expect([code, causes]).toEqual([422, ['spec.template.metadata.labels[job-name]']]);
  });

  test('are not selected manually without manualSelector', async () => {
    const { code, causes } = await jobs.create(
      job({ selector: { matchLabels: { app: 'x' } } }, { labels: { app: 'x' } }),
    );
    expect([code, causes]).toEqual([422, ['spec.selector']]);
  });

  test('can be selected manually', async () => {
    const selector = { matchLabels: { app: 'x' } };
    const { code, object } = await jobs.create(
      job({ manualSelector: true, selector }, { labels: { app: 'x' } }),
    );
    expect(code).toBe(201);
    expect(object.spec['selector']).toEqual(selector);
    expect(templateLabels(object.spec)).toEqual({ app: 'x' });
    expect(object.metadata.labels).toEqual({ app: 'x' });
  });
});

describe('jobs', () => {
  test('are rejected with every cause', async () => {
    const { code, message } = await jobs.create(
      job({ completions: -1, completionMode: 'NonIndexed', backoffLimit: -1 }),
    );
    expect(code).toBe(422);
    expect(message).toBe(
      'Job.batch "pi" is invalid: [spec.completions: Invalid value: -1: must be greater than ' +
        'or equal to 0, spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0]',
    );
  });

  test('without a name are rejected for that', async () => {
    const { code, causes } = await jobs.create({
      spec: job({ completionMode: 'Indexed', completions: 3 }).spec,
    });
    expect(code).toBe(422);
    expect(new Set(causes)).toEqual(new Set(['metadata.name']));
  });

  test('cause warnings about surprising fields', async () => {
    const spec = { completionMode: 'Indexed', completions: 100_001, parallelism: 10_001 };
    const { code, warnings } = await jobs.create(job(spec));
    expect(code).toBe(201);
    expect(warnings).toEqual([
      'spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism ' +
        'higher than 10^4, Kubernetes might not be able to track completedIndexes when a big ' +
        'number of indexes fail',
    ]);
    const dotted = await jobs.create({ ...job(), metadata: { name: 'pi.1' } });
    expect(dotted.warnings).toEqual([
      'metadata.name: this is used in Pod names and hostnames, which can result in surprising ' +
        'behavior; a DNS label is recommended: [must not contain dots]',
    ]);
  });

  test('allow few changes, and count them', async () => {
    await jobs.create(job());
    const suspended = await jobs.patch('pi', { spec: { suspend: true } });
    expect([suspended.code, suspended.object.metadata.generation]).toEqual([200, 2]);
    const placed = await jobs.patch('pi', {
      spec: { template: { spec: { nodeSelector: { a: 'b' } } } },
    });
    expect(placed.code).toBe(200);
    await jobs.patch('pi', { spec: { suspend: false } });
    const refused = await jobs.patch('pi', {
      spec: { template: { spec: { nodeSelector: { a: 'c' } } } },
    });
    expect([refused.code, refused.causes]).toEqual([422, ['spec.template']]);
  });

  const START = '2026-01-01T00:00:00Z';
  const condition = (type: string) => ({
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: null,
  });

  test('have a status with valid transitions only', async () => {
    await jobs.create(job());
    const begun = await jobs.patch('pi/status', {
      spec: { suspend: true },
      status: { startTime: START, active: 1 },
    });
    expect(begun.object.status).toEqual({ startTime: START, active: 1 });
    expect(begun.object.spec).toMatchObject({ suspend: false });
    const early = await jobs.patch('pi/status', {
      status: { conditions: [condition('Complete')] },
    });
    expect(early.code).toBe(422);
    expect(early.causes).toEqual(['status.completionTime', 'status.conditions', 'status.active']);
    const done = await jobs.patch('pi/status', {
      status: {
        active: 0,
        succeeded: 1,
        completionTime: START,
        conditions: ['SuccessCriteriaMet', 'Complete'].map(condition),
      },
    });
    expect(done.code).toBe(200);
    const undone = await jobs.patch('pi/status', {
      status: { conditions: null, completionTime: null },
    });
    expect(undone.causes).toEqual(['status.conditions', 'status.conditions']);
  });

  test.each([
    [['SuccessCriteriaMet'], 'SuccessCriteriaMet'],
    [['SuccessCriteriaMet', 'FailureTarget'], 'FailureTarget'],
    [['Suspended', 'FailureTarget'], 'Suspended'],
    [[], 'Running'],
  ])('with conditions %j are shown as %s', (types, shown) => {
    const object = { ...job(), status: { conditions: types.map(condition) } };
    expect(jobTable.cells(object as never, 0)[1]).toBe(shown);
  });

  test('can be selected by the number of successful pods', async () => {
    await jobs.create(job());
    await jobs.create({ ...job(), metadata: { name: 'e' } });
    await jobs.patch('e/status', { status: { succeeded: 1 } });
    expect(await jobs.list('fieldSelector=status.successful%3D1')).toEqual(['e']);
    expect(await jobs.list('fieldSelector=status.successful%3D0')).toEqual(['pi']);
  });

  test('keep their pods when they are deleted, by default', async () => {
    await jobs.create(job());
    const marked = await jobs.delete('pi');
    expect(marked.object.metadata.finalizers).toEqual(['orphan']);
    await jobs.create({ ...job(), metadata: { name: 'e' } });
    await jobs.delete('e', '?propagationPolicy=Background');
    expect((await jobs.get('e')).code).toBe(404);
  });

  test('are deleted with a warning if the policy is not given', async () => {
    const path = '/apis/batch/v1/namespaces/default/jobs';
    const remove = async (query: string): Promise<readonly string[]> =>
      (await send(t.server, { method: 'DELETE', path: `${path}${query}` })).warnings;
    await jobs.create(job());
    const warning = expect.stringContaining('child pods are preserved by default');
    expect(await remove('/pi?dryRun=All')).toEqual([warning]);
    expect(await remove('?dryRun=All')).toEqual([warning]);
    expect(await remove('/pi?propagationPolicy=Orphan&dryRun=All')).toEqual([]);
    expect(await remove('?propagationPolicy=Background')).toEqual([]);
  });

  test('have a table', async () => {
    const { object } = await jobs.create(job());
    const { columns, rows } = await jobs.table();
    expect(columns).toEqual([
      'Name',
      'Status',
      'Completions',
      'Duration',
      'Age',
      'Containers',
      'Images',
      'Selector',
    ]);
    const selector = `batch.kubernetes.io/controller-uid=${object.metadata.uid}`;
    expect(rows).toEqual([['pi', 'Running', '0/1', '', '0s', 'c', 'i', selector]]);
  });
});
