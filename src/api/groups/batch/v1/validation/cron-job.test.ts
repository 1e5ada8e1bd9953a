// Errors of cron jobs, with upstream's messages. Each case is a change to a valid object.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { manifest } from '#api/testing/manifest.ts';
import * as validation from './index.ts';
import type { CronJob } from './types.ts';

const messages = (errors: FieldErrorList): string[] => errors.map((error) => error.message);

interface Parts {
  readonly name?: string;
  readonly schedule?: string;
  readonly spec?: string;
  readonly job?: string;
  readonly restartPolicy?: string;
}

function cronJob({
  name = 'c',
  schedule = '0 0 * * *',
  spec = '',
  job = '',
  restartPolicy = 'OnFailure',
}: Parts = {}): CronJob {
  const template = `template: {spec: {restartPolicy: ${restartPolicy}, containers: [{name: c, image: i}]}}`;
  return manifest(
    'batch/v1.CronJob',
    `metadata: {name: "${name}"}\nspec: {schedule: "${schedule}", jobTemplate: {spec: {${template}, ${job}}}, ${spec}}`,
  );
}

const JOB = 'spec.jobTemplate.spec';
const NEGATIVE = 'must be greater than or equal to 0';
const NO_ZONE = 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead';

describe('cron jobs', () => {
  test.each<[what: string, parts: Parts]>([
    ['at midnight', {}],
    ['by a name', { schedule: '@hourly' }],
    ['in a place', { spec: 'timeZone: America/New_York' }],
    ['in a place by its old name', { spec: 'timeZone: US/Eastern' }],
    ['for a while', { schedule: '@every 5m', spec: 'startingDeadlineSeconds: 0' }],
    ['without history', { spec: 'successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0' }],
    ['one at a time', { spec: 'concurrencyPolicy: Replace', restartPolicy: 'Never' }],
    ['with indexes', { job: 'completionMode: Indexed, completions: 3' }],
    ['with the longest name', { name: 'c'.repeat(52) }],
    ['with a word about the selector that changes nothing', { job: 'manualSelector: false' }],
  ])('good: %s', (_, parts) => {
    expect(messages(validation.validateCronJob(cronJob(parts)))).toEqual([]);
  });

  test.each<[what: string, parts: Parts, errors: string[]]>([
    ['no schedule', { schedule: '' }, ['spec.schedule: Required value']],
    [
      'a schedule that is none',
      { schedule: 'error' },
      ['spec.schedule: Invalid value: "error": expected exactly 5 fields, found 1: [error]'],
    ],
    [
      'a Sunday by another number',
      { schedule: '0 0 * * 7' },
      ['spec.schedule: Invalid value: "0 0 * * 7": end of range (7) above maximum (6): 7'],
    ],
    [
      'a place in the schedule',
      { schedule: 'CRON_TZ=UTC 0 0 * * *' },
      [`spec.schedule: Invalid value: "CRON_TZ=UTC 0 0 * * *": ${NO_ZONE}`],
    ],
    [
      'an unknown place in the schedule',
      { schedule: 'TZ=Mars 0 0 * * *' },
      [
        'spec.schedule: Invalid value: "TZ=Mars 0 0 * * *": provided bad location Mars: unknown time zone Mars',
        `spec.schedule: Invalid value: "TZ=Mars 0 0 * * *": ${NO_ZONE}`,
      ],
    ],
    [
      'no place',
      { spec: 'timeZone: ""' },
      ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
    ],
    [
      'this place',
      { spec: 'timeZone: Local' },
      [
        'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as ' +
          'defined in https://www.iana.org/time-zones',
      ],
    ],
    [
      'this place, in small letters',
      { spec: 'timeZone: local' },
      [
        'spec.timeZone: Invalid value: "local": timeZone must be an explicit time zone as ' +
          'defined in https://www.iana.org/time-zones',
        'spec.timeZone: Invalid value: "local": unknown time zone local',
      ],
    ],
    ...[
      'Amerrica/New_York',
      'america/new_york',
      '/etc/passwd',
      'Asia/..',
      '../UTC',
      '-Asia/Tokyo',
      'Asia//Tokyo',
      'UTC ',
      ' ',
    ].map((zone): [string, Parts, string[]] => [
      `a place that there is not: ${zone}`,
      { spec: `timeZone: "${zone}"` },
      [`spec.timeZone: Invalid value: "${zone}": unknown time zone ${zone}`],
    ]),
    [
      'a policy that there is not',
      { spec: 'concurrencyPolicy: Queue' },
      [
        'spec.concurrencyPolicy: Unsupported value: "Queue": supported values: "Allow", "Forbid", "Replace"',
      ],
    ],
    ...['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'].map(
      (name): [string, Parts, string[]] => [
        `negative: ${name}`,
        { spec: `${name}: -1` },
        [`spec.${name}: Invalid value: -1: ${NEGATIVE}`],
      ],
    ),
    ...[
      'parallelism',
      'completions',
      'activeDeadlineSeconds',
      'backoffLimit',
      'ttlSecondsAfterFinished',
    ].map((name): [string, Parts, string[]] => [
      `negative in its jobs: ${name}`,
      { job: `${name}: -1` },
      [`${JOB}.${name}: Invalid value: -1: ${NEGATIVE}`],
    ]),
    [
      'a selector',
      { job: 'selector: {matchLabels: {a: b}}' },
      [
        `${JOB}.selector: Invalid value: {"matchLabels":{"a":"b"}}: \`selector\` will be auto-generated`,
      ],
    ],
    [
      'a selector by hand',
      { job: 'manualSelector: true' },
      [`${JOB}.manualSelector: Unsupported value: true: supported values: "nil", "false"`],
    ],
    [
      'pods that run for ever',
      { restartPolicy: 'Always' },
      [`${JOB}.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`],
    ],
    [
      'a limit per index without indexes',
      { job: 'backoffLimitPerIndex: 1' },
      [`${JOB}.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode`],
    ],
    [
      'a name that leaves no room for the time',
      { name: 'c'.repeat(53) },
      [`metadata.name: Invalid value: "${'c'.repeat(53)}": must be no more than 52 characters`],
    ],
  ])('bad: %s', (_, parts, errors) => {
    expect(messages(validation.validateCronJob(cronJob(parts)))).toEqual(errors);
  });

  const ZONED = 'TZ=Asia/Tokyo 0 0 * * *';
  test.each<[what: string, parts: Parts, old: Parts, errors: string[]]>([
    ['anything', { schedule: '@daily', spec: 'suspend: true', job: 'completions: 5' }, {}, []],
    [
      'something with a long name',
      { name: 'c'.repeat(60), schedule: '@daily' },
      { name: 'c'.repeat(60) },
      [],
    ],
    [
      'something beside a place in the schedule',
      { schedule: ZONED, spec: 'suspend: true' },
      { schedule: ZONED },
      [],
    ],
    [
      'a place, beside one in the schedule',
      { schedule: ZONED, spec: 'timeZone: UTC' },
      { schedule: ZONED },
      [
        `spec.schedule: Invalid value: "${ZONED}": cannot use both timeZone field and TZ or CRON_TZ in schedule`,
      ],
    ],
    [
      'the schedule, to one with a place',
      { schedule: ZONED },
      {},
      [`spec.schedule: Invalid value: "${ZONED}": ${NO_ZONE}`],
    ],
    [
      'something beside a place that is no more',
      { schedule: '@daily', spec: 'timeZone: Ancient/Rome' },
      { spec: 'timeZone: Ancient/Rome' },
      [],
    ],
    [
      'the place, to one that there is not',
      { spec: 'timeZone: Ancient/Rome' },
      { spec: 'timeZone: Europe/Rome' },
      ['spec.timeZone: Invalid value: "Ancient/Rome": unknown time zone Ancient/Rome'],
    ],
    [
      'its jobs, badly',
      { job: 'completions: -1' },
      {},
      [`${JOB}.completions: Invalid value: -1: ${NEGATIVE}`],
    ],
  ])('an update of %s', (_, parts, old, errors) => {
    expect(messages(validation.validateCronJobUpdate(cronJob(parts), cronJob(old)))).toEqual(
      errors,
    );
  });
});
