// The default of each field of a job. Explicit values are kept.

import { describe, expect, test } from 'vitest';

import { manifest } from '#api/testing/manifest.ts';
import type { CronJob, Job } from './types.ts';

const template =
  'template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}';
const rules = (pattern: string): string =>
  `podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [${pattern}]}]}`;

describe('jobs', () => {
  const job = (spec: string): Job => manifest<Job>('batch/v1.Job', `spec: {${template}, ${spec}}`);

  test.each<[given: string, defaults: object]>([
    [
      '',
      {
        parallelism: 1,
        completions: 1,
        backoffLimit: 6,
        completionMode: 'NonIndexed',
        suspend: false,
        podReplacementPolicy: 'TerminatingOrFailed',
        manualSelector: false,
      },
    ],
    ['completions: 3', { completions: 3, parallelism: 1 }],
    ['parallelism: 0', { parallelism: 0 }],
    ['backoffLimit: 0', { backoffLimit: 0 }],
    ['backoffLimitPerIndex: 1', { backoffLimitPerIndex: 1, backoffLimit: 2147483647 }],
    ['backoffLimitPerIndex: 1, backoffLimit: 3', { backoffLimit: 3 }],
    ['completionMode: Indexed, suspend: true', { completionMode: 'Indexed', suspend: true }],
    ['podFailurePolicy: {rules: []}', { podReplacementPolicy: 'Failed' }],
    [
      'podFailurePolicy: {rules: []}, podReplacementPolicy: TerminatingOrFailed',
      { podReplacementPolicy: 'TerminatingOrFailed' },
    ],
    ['manualSelector: true', { manualSelector: true }],
    [
      rules('{type: X}'),
      { podFailurePolicy: { rules: [{ onPodConditions: [{ type: 'X', status: 'True' }] }] } },
    ],
    [
      rules('{type: X, status: "False"}'),
      { podFailurePolicy: { rules: [{ onPodConditions: [{ status: 'False' }] }] } },
    ],
  ])('%s', (given, defaults) => {
    expect(job(given).spec).toMatchObject(defaults);
  });

  test('with parallelism alone, completions have no default', () => {
    expect(job('parallelism: 2').spec).not.toHaveProperty('completions');
  });

  test('the template has the defaults of pods; a job without labels gets those of its template', () => {
    expect(job('').spec.template.spec).toMatchObject({
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
    });
    const { metadata, spec } = job('');
    expect(metadata.labels).toBe(spec.template.metadata.labels);
    expect(metadata.labels).toEqual({ a: 'b' });
  });
});

describe('cron jobs', () => {
  const cronJob = (spec: string, job = ''): CronJob['spec'] =>
    manifest<CronJob>(
      'batch/v1.CronJob',
      `spec: {schedule: "@daily", jobTemplate: {spec: {${template}, ${job}}}, ${spec}}`,
    ).spec;

  test.each<[given: string, defaults: object]>([
    [
      '',
      {
        concurrencyPolicy: 'Allow',
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
      },
    ],
    ['concurrencyPolicy: Forbid, suspend: true', { concurrencyPolicy: 'Forbid', suspend: true }],
    [
      'successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0',
      { successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 },
    ],
  ])('%s', (given, defaults) => {
    expect(cronJob(given)).toMatchObject(defaults);
  });

  test('a template has only some defaults of jobs', () => {
    const { spec } = cronJob('', rules('{type: X}')).jobTemplate;
    expect(Object.keys(spec).sort()).toEqual(['podFailurePolicy', 'template']);
    expect(spec.template.spec.restartPolicy).toBe('Always');
    expect(spec.podFailurePolicy?.rules?.[0]?.onPodConditions).toEqual([
      { type: 'X', status: 'True' },
    ]);
  });
});
