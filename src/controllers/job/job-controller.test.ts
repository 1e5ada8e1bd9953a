import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { jobs, type JobSpec } from '#api/groups/batch/v1/index.ts';
import { events, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { JobController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.run((config) => new JobController(config));
});
afterEach(() => cluster.stop());

const client = () => cluster.client.resource(jobs).namespace('default');
const podClient = () => cluster.client.resource(pods).namespace('default');
const settle = () => cluster.clock.settle();

async function create(spec: New<JobSpec> = {}): Promise<void> {
  await client().create({
    metadata: { name: 'work' },
    spec: {
      template: {
        spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox:1' }] },
      },
      ...spec,
    },
  });
  await settle();
}
const job = () => client().get('work');
const patch = async (spec: object) => {
  await client().patch('work', 'application/merge-patch+json', { spec });
  await settle();
};
const podList = async (): Promise<readonly Immutable<Pod>[]> => (await podClient().list()).items;
const running = async () =>
  (await podList()).filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      !['Succeeded', 'Failed'].includes(status.phase ?? ''),
  );
const index = (pod: Immutable<Pod>) =>
  Number(pod.metadata.annotations?.['batch.kubernetes.io/job-completion-index']);

async function end(
  pod: Immutable<Pod> | undefined,
  exitCode: number,
  more: object = {},
): Promise<void> {
  if (pod === undefined) throw new Error('there is no such pod');
  const finishedAt = formatTime(cluster.clock.now());
  const status = {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containerStatuses: [
      {
        name: 'c',
        ready: false,
        restartCount: 0,
        image: '',
        imageID: '',
        state: { terminated: { exitCode, finishedAt } },
      },
    ],
    ...more,
  };
  await podClient().patch(
    pod.metadata.name,
    'application/merge-patch+json',
    { status },
    { subresource: 'status' },
  );
  await settle();
}
const endIndex = async (wanted: number, exitCode: number) =>
  end(
    (await running()).find((pod) => index(pod) === wanted),
    exitCode,
  );
const conditions = async () =>
  ((await job()).status.conditions ?? []).map(
    ({ type, status, reason }) => `${type}=${status} ${reason}`,
  );
async function eventList(): Promise<string[]> {
  const { items } = await cluster.client.resource(events).namespace('default').list();
  return items
    .filter(({ involvedObject }) => involvedObject.kind === 'Job')
    .map(({ type, reason }) => `${type} ${reason}`);
}

describe('a job', () => {
  test('runs as many pods at a time as its parallelism, until its completions have succeeded', async () => {
    await create({ completions: 3, parallelism: 2 });
    expect((await job()).status).toMatchObject({
      active: 2,
      ready: 0,
      startTime: expect.any(String),
    });
    const [first, second] = await podList();
    expect(first?.metadata).toMatchObject({
      finalizers: ['batch.kubernetes.io/job-tracking'],
      ownerReferences: [{ kind: 'Job', name: 'work', controller: true }],
      labels: { 'batch.kubernetes.io/job-name': 'work', 'job-name': 'work' },
    });
    await end(first, 0);
    expect((await job()).status).toMatchObject({
      active: 2,
      succeeded: 1,
      uncountedTerminatedPods: {},
    });
    await end(second, 0);
    expect((await job()).status).toMatchObject({ active: 1, succeeded: 2 });
    await end((await running())[0], 0);
    const { status } = await job();
    expect(status).toMatchObject({
      succeeded: 3,
      ready: 0,
      terminating: 0,
      completionTime: expect.any(String),
    });
    expect(status.active).toBeUndefined();
    expect(await conditions()).toEqual([
      'SuccessCriteriaMet=True CompletionsReached',
      'Complete=True CompletionsReached',
    ]);
    expect((await podList()).every(({ metadata }) => metadata.finalizers === undefined)).toBe(true);
    expect(await eventList()).toContain('Normal Completed');
  });

  test('waits longer after each failure, and fails at its back-off limit', async () => {
    await create({ backoffLimit: 2 });
    await end((await running())[0], 1);
    expect(await running()).toHaveLength(0);
    await cluster.clock.advance('9s');
    expect(await running()).toHaveLength(0);
    await cluster.clock.advance('2s');
    await end((await running())[0], 1);
    await cluster.clock.advance('19s');
    expect(await running()).toHaveLength(0);
    await cluster.clock.advance('2s');
    await end((await running())[0], 1);
    expect(await conditions()).toEqual([
      'FailureTarget=True BackoffLimitExceeded',
      'Failed=True BackoffLimitExceeded',
    ]);
    expect((await job()).status).toMatchObject({ failed: 3 });
    expect(await eventList()).toContain('Warning BackoffLimitExceeded');
    await cluster.clock.advance('1h');
    expect(await running()).toHaveLength(0);
  });

  test('without completions starts no more pods once one has succeeded', async () => {
    await create({ parallelism: 2, completions: null as never });
    const [first, second] = await running();
    await end(first, 0);
    expect(await running()).toHaveLength(1);
    expect(await conditions()).toEqual([]);
    await end(second, 0);
    expect((await conditions()).at(-1)).toBe('Complete=True CompletionsReached');
  });

  test('fails at its deadline, and deletes its pods', async () => {
    await create({ activeDeadlineSeconds: 30, parallelism: 2, completions: 2 });
    await cluster.clock.advance('29s');
    expect(await running()).toHaveLength(2);
    await cluster.clock.advance('2s');
    expect(await conditions()).toEqual([
      'FailureTarget=True DeadlineExceeded',
      'Failed=True DeadlineExceeded',
    ]);
    expect(await podList()).toEqual([]);
    expect((await job()).status).toMatchObject({ failed: 2 });
  });

  test('runs no pods while it is suspended, and starts again afterwards', async () => {
    await create({ suspend: true });
    expect(await podList()).toEqual([]);
    expect((await job()).status.startTime).toBeUndefined();
    expect(await conditions()).toEqual(['Suspended=True JobSuspended']);
    await patch({ suspend: false });
    expect(await running()).toHaveLength(1);
    expect(await conditions()).toEqual(['Suspended=False JobResumed']);
    await patch({ suspend: true });
    expect(await running()).toHaveLength(0);
    expect((await job()).status.failed).toBe(1);
    expect(await eventList()).toEqual(
      expect.arrayContaining(['Normal Suspended', 'Normal Resumed']),
    );
  });

  test('is left to the controller in managedBy', async () => {
    await create({ managedBy: 'example.com/other' });
    expect([await podList(), (await job()).status]).toEqual([[], {}]);
  });

  test('removes pods when its parallelism decreases', async () => {
    await create({ parallelism: 4, completions: 10 });
    await patch({ parallelism: 1 });
    expect(await running()).toHaveLength(1);
    await patch({ parallelism: 0 });
    expect((await job()).status.active).toBeUndefined();
  });

  test('replaces deleted pods, and counts them as failed', async () => {
    await create();
    const [first] = await running();
    await podClient().delete(first!.metadata.name, { gracePeriodSeconds: 0 });
    await cluster.clock.advance('11s');
    expect((await job()).status).toMatchObject({ failed: 1, active: 1 });
    expect(await running()).toHaveLength(1);
  });

  test('that is deleted leaves no pod that its finalizer would keep', async () => {
    await create();
    const [first] = await running();
    await client().delete('work', { propagationPolicy: 'Background' });
    await settle();
    expect((await podClient().get(first!.metadata.name)).metadata.finalizers).toBeUndefined();
  });
});

describe('an indexed job', () => {
  const indexed = { completionMode: 'Indexed' as const, completions: 3, parallelism: 2 };

  test('runs each index once, and passes the index to its pod', async () => {
    await create(indexed);
    const [zero, one] = (await running()).toSorted((a, b) => index(a) - index(b));
    expect([index(zero!), index(one!)]).toEqual([0, 1]);
    expect(zero?.metadata.name).toMatch(/^work-0-[a-z0-9]{5}$/);
    expect(zero?.metadata.labels?.['batch.kubernetes.io/job-completion-index']).toBe('0');
    expect(zero?.spec.hostname).toBe('work-0');
    expect(zero?.spec.containers[0]?.env).toEqual([
      {
        name: 'JOB_COMPLETION_INDEX',
        valueFrom: {
          fieldRef: {
            apiVersion: 'v1',
            fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']",
          },
        },
      },
    ]);
    await end(one, 0);
    expect((await job()).status).toMatchObject({ completedIndexes: '1', succeeded: 1, active: 2 });
    await endIndex(0, 1);
    await cluster.clock.advance('11s');
    expect((await running()).map(index).sort()).toEqual([0, 2]);
    await endIndex(0, 0);
    await endIndex(2, 0);
    expect((await job()).status).toMatchObject({
      completedIndexes: '0-2',
      succeeded: 3,
      failed: 1,
    });
    expect((await conditions()).at(-1)).toBe('Complete=True CompletionsReached');
  });

  test('limits failures per index, and fails when all others are done', async () => {
    await create({ ...indexed, parallelism: 3, backoffLimitPerIndex: 1 });
    await endIndex(1, 1);
    expect(await running()).toHaveLength(2);
    await cluster.clock.advance('11s');
    const again = (await running()).find((pod) => index(pod) === 1);
    expect(again?.metadata.annotations?.['batch.kubernetes.io/job-index-failure-count']).toBe('1');
    await endIndex(1, 1);
    expect((await job()).status).toMatchObject({ failedIndexes: '1' });
    await endIndex(0, 0);
    await endIndex(2, 0);
    expect((await job()).status).toMatchObject({
      failedIndexes: '1',
      completedIndexes: '0,2',
      failed: 2,
      succeeded: 2,
    });
    expect(await conditions()).toEqual([
      'FailureTarget=True FailedIndexes',
      'Failed=True FailedIndexes',
    ]);
  });

  test('ends early when too many indexes have failed', async () => {
    await create({
      ...indexed,
      completions: 4,
      parallelism: 4,
      backoffLimitPerIndex: 0,
      maxFailedIndexes: 1,
    });
    await endIndex(0, 1);
    expect(await conditions()).toEqual([]);
    await endIndex(3, 1);
    expect((await conditions()).at(-1)).toBe('Failed=True MaxFailedIndexesExceeded');
    expect((await job()).status).toMatchObject({ failedIndexes: '0,3' });
  });

  test('succeeds as soon as its success policy is met', async () => {
    await create({
      ...indexed,
      parallelism: 3,
      successPolicy: { rules: [{ succeededIndexes: '1-2', succeededCount: 1 }] },
    });
    await endIndex(0, 0);
    expect(await conditions()).toEqual([]);
    await endIndex(2, 0);
    expect(await conditions()).toEqual([
      'SuccessCriteriaMet=True SuccessPolicy',
      'Complete=True SuccessPolicy',
    ]);
    expect(await running()).toEqual([]);
  });
});

describe('a pod failure policy', () => {
  const policy = (action: string, more: object = {}) => ({
    rules: [{ action, onExitCodes: { operator: 'In', values: [42] } }, more].filter(
      (rule) => Object.keys(rule).length > 0,
    ),
  });

  test('fails the job', async () => {
    await create({ parallelism: 2, completions: 2, podFailurePolicy: policy('FailJob') });
    await end((await running())[0], 42);
    expect((await job()).status.conditions?.[0]).toMatchObject({
      type: 'FailureTarget',
      reason: 'PodFailurePolicy',
      message: expect.stringMatching(
        /^Container c for pod default\/work-\w+ failed with exit code 42 matching FailJob rule at index 0$/,
      ),
    });
    // The other pod is deleted, too; the job fails only after it has ended.
    const leaving = (await podList()).find(
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    );
    expect(await conditions()).toHaveLength(1);
    await end(leaving, 137);
    expect((await conditions()).at(-1)).toBe('Failed=True PodFailurePolicy');
  });

  test('ignores a failure', async () => {
    await create({ backoffLimit: 0, podFailurePolicy: policy('Ignore') });
    await end((await running())[0], 42);
    expect((await job()).status.failed).toBeUndefined();
    expect(await running()).toHaveLength(1);
    await end((await running())[0], 1);
    expect((await conditions()).at(-1)).toBe('Failed=True BackoffLimitExceeded');
  });

  test('matches pod conditions', async () => {
    const rules = [
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    ];
    await create({ backoffLimit: 0, podFailurePolicy: { rules } as never });
    await end((await running())[0], 1, {
      conditions: [{ type: 'DisruptionTarget', status: 'True' }],
    });
    expect((await job()).status.failed).toBeUndefined();
    expect(await running()).toHaveLength(1);
  });

  test('fails an index', async () => {
    const spec = {
      completionMode: 'Indexed' as const,
      completions: 2,
      parallelism: 2,
      backoffLimitPerIndex: 5,
    };
    await create({ ...spec, podFailurePolicy: policy('FailIndex') });
    await endIndex(0, 42);
    expect((await job()).status.failedIndexes).toBe('0');
    expect((await running()).map(index)).toEqual([1]);
  });
});
