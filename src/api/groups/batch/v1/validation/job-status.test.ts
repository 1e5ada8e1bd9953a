// Errors of updates of a job's status, with upstream's messages.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { manifest } from '#api/testing/manifest.ts';
import * as validation from './index.ts';
import type { Job } from './types.ts';

const messages = (errors: FieldErrorList): string[] => errors.map((error) => error.message);

function job(status: string, spec = ''): Job {
  const template = 'template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}';
  return manifest(
    'batch/v1.Job',
    `metadata: {name: j}\nspec: {${template}, ${spec}}\nstatus: {${status}}`,
  );
}

/** Returns conditions with the status True. */
const conditions = (...types: string[]): string =>
  `conditions: [${types.map((type) => `{type: ${type}, status: "True"}`).join(', ')}]`;
const START = 'startTime: "2026-01-01T00:00:00Z"';
const END = 'completionTime: "2026-01-01T01:00:00Z"';
const COMPLETE = `${START}, ${END}, ${conditions('SuccessCriteriaMet', 'Complete')}`;
const FAILED = `${START}, ${conditions('FailureTarget', 'Failed')}`;
const INDEXED = 'completionMode: Indexed, completions: 5, parallelism: 2';
const PER_INDEX = `${INDEXED}, backoffLimitPerIndex: 1`;
const conflict = (message: string): string => `status.conditions: Invalid value: ${message}`;

type Case = [what: string, status: string, old: string, errors: string[], spec?: string];

function check(_: string, status: string, old: string, errors: string[], spec?: string): void {
  expect(messages(validation.validateJobStatusUpdate(job(status, spec), job(old, spec)))).toEqual(
    errors,
  );
}

describe('valid', () => {
  test.each<Case>([
    ['nothing', '', '', []],
    ['running', `${START}, active: 2, ready: 1, terminating: 1`, '', []],
    ['complete', COMPLETE, START, []],
    ['failed', FAILED, START, []],
    ['about to fail', `${START}, ${conditions('FailureTarget')}, active: 1`, START, []],
    [
      'pods still to be counted',
      'uncountedTerminatedPods: {succeeded: [a, b], failed: [c]}',
      '',
      [],
    ],
    ['indexes', 'completedIndexes: "0,2-4", failedIndexes: "1"', '', [], PER_INDEX],
    ['a suspended job forgets when it began', conditions('Suspended'), START, [], 'suspend: true'],
    [
      'a job that can shrink',
      'succeeded: 2',
      'succeeded: 3',
      [],
      'completionMode: Indexed, completions: 2, parallelism: 2',
    ],
    ['what was wrong before', 'active: 1, ready: 2, succeeded: 1', 'active: 1, ready: 2', []],
    [
      'indexes beyond the end, from before',
      'completedIndexes: "0-9", active: 1',
      'completedIndexes: "0-9"',
      [],
      INDEXED,
    ],
    ['a condition that is not true', 'conditions: [{type: Complete, status: "False"}]', '', []],
  ])('%s', check);
});

describe('numbers', () => {
  test.each(['active', 'succeeded', 'failed', 'ready', 'terminating'])('%s', (name) => {
    const errors = messages(
      validation.validateJobStatusUpdate(job(`${name}: -1`), job(`${name}: -1`)),
    );
    expect(errors).toEqual([
      `status.${name}: Invalid value: -1: must be greater than or equal to 0`,
    ]);
  });

  test.each<Case>([
    [
      'less failed',
      'failed: 2',
      'failed: 3',
      ['status.failed: Invalid value: 2: cannot decrease the failed counter'],
    ],
    [
      'less succeeded',
      '',
      'succeeded: 3',
      ['status.succeeded: Invalid value: 0: cannot decrease the succeeded counter'],
    ],
    [
      'less succeeded, indexed',
      'succeeded: 2',
      'succeeded: 3',
      ['status.succeeded: Invalid value: 2: cannot decrease the succeeded counter'],
      INDEXED,
    ],
    [
      'more ready than there are',
      'active: 1, ready: 2',
      '',
      ['status.ready: Invalid value: 2: cannot set more ready pods than active'],
    ],
    [
      'uncounted pods without a name, or twice',
      'uncountedTerminatedPods: {succeeded: [a, a, ""], failed: [a, ""]}',
      '',
      [
        'status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"',
        'status.uncountedTerminatedPods.succeeded[2]: Invalid value: "": must not be empty',
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
        'status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty',
      ],
    ],
  ])('%s', check);
});

describe('the end', () => {
  test.each<Case>([
    [
      'complete and failed',
      `${START}, ${END}, ${conditions('SuccessCriteriaMet', 'Complete', 'FailureTarget', 'Failed')}`,
      START,
      [
        conflict('cannot set Complete=True and Failed=true conditions'),
        conflict('cannot set Complete=True and FailureTarget=true conditions'),
        conflict('cannot set SuccessCriteriaMet=True and Failed=true conditions'),
        conflict('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'),
      ],
    ],
    [
      'failed without having to',
      `${START}, ${conditions('Failed')}`,
      START,
      [conflict('cannot set Failed=True condition without the FailureTarget=true condition')],
    ],
    [
      'complete without having succeeded',
      `${START}, ${END}, ${conditions('Complete')}`,
      START,
      [
        conflict(
          'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
        ),
      ],
    ],
    [
      'complete at no time',
      `${START}, ${conditions('SuccessCriteriaMet', 'Complete')}`,
      START,
      ['status.completionTime: Required value: completionTime is required for Complete jobs'],
    ],
    [
      'a time without being complete',
      `${START}, ${END}`,
      START,
      [
        'status.completionTime: Invalid value: "2026-01-01T01:00:00Z": cannot set ' +
          'completionTime when there is no Complete=True condition',
      ],
    ],
    [
      'complete before it began',
      `startTime: "2026-01-01T02:00:00Z", ${END}, ${conditions('SuccessCriteriaMet', 'Complete')}`,
      '',
      [
        'status.completionTime: Invalid value: "2026-01-01T01:00:00Z": must be equal to or after `startTime`',
      ],
    ],
    [
      'never begun',
      `${END}, ${conditions('SuccessCriteriaMet', 'Complete')}`,
      '',
      ['status.startTime: Required value: startTime is required for finished job'],
    ],
    [
      'pods that run on',
      `${FAILED}, active: 1`,
      START,
      ['status.active: Invalid value: 1: active>0 is invalid for finished job'],
    ],
    [
      'pods on their way out',
      `${FAILED}, terminating: 1`,
      START,
      ['status.terminating: Invalid value: 1: terminating>0 is invalid for finished job'],
    ],
    [
      'pods not counted',
      `${FAILED}, uncountedTerminatedPods: {failed: [a]}`,
      START,
      [
        'status.uncountedTerminatedPods: Invalid value: {"failed":["a"]}: must be empty for finished job',
      ],
    ],
    [
      'success by other means than the policy',
      `${START}, ${END}, ${conditions('Complete')}`,
      START,
      [
        conflict(
          'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
        ),
        conflict(
          'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True',
        ),
      ],
      `${INDEXED}, successPolicy: {rules: [{succeededCount: 1}]}`,
    ],
  ])('%s', check);
});

describe('what cannot be taken back', () => {
  test.each<Case>([
    [
      'failure',
      `${START}, ${conditions('FailureTarget')}`,
      FAILED,
      [conflict('cannot disable the terminal Failed=True condition')],
    ],
    [
      'the decision to fail',
      START,
      `${START}, ${conditions('FailureTarget')}`,
      [conflict('cannot disable the terminal FailureTarget=True condition')],
    ],
    [
      'success',
      START,
      COMPLETE,
      [
        conflict('cannot disable the terminal Complete=True condition'),
        conflict('cannot disable the SuccessCriteriaMet=True condition'),
      ],
    ],
    [
      'success that nothing was said of',
      COMPLETE,
      `${START}, ${END}, ${conditions('Complete')}`,
      [conflict('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions')],
    ],
    [
      'when it ended',
      COMPLETE.replace('01:00', '01:30'),
      COMPLETE,
      [
        'status.completionTime: Invalid value: "2026-01-01T01:30:00Z": completionTime cannot be mutated',
      ],
    ],
    [
      'when it began',
      '',
      START,
      ['status.startTime: Invalid value: null: field is immutable for unsuspended job once set'],
    ],
    [
      'when it began, even to another time',
      START.replace('00:00', '00:30'),
      START,
      [
        'status.startTime: Invalid value: "2026-01-01T00:30:00Z": field is immutable for unsuspended job once set',
      ],
    ],
  ])('%s', check);
});

describe('indexes', () => {
  test.each<Case>([
    [
      'completed ones that are none',
      'completedIndexes: "3,1"',
      '',
      [
        'status.completedIndexes: Invalid value: "3,1": error parsing completedIndexes: ' +
          'non-increasing order, previous: 3, current: 1',
      ],
      INDEXED,
    ],
    [
      'completed ones that there are not',
      'completedIndexes: "5"',
      '',
      [
        'status.completedIndexes: Invalid value: "5": error parsing completedIndexes: too large index: "5"',
      ],
      INDEXED,
    ],
    [
      'of a job without',
      'completedIndexes: "0"',
      '',
      [
        'status.completedIndexes: Invalid value: "0": cannot set non-empty ' +
          'completedIndexes when non-indexed completion mode',
      ],
    ],
    [
      'failed ones that are none',
      'failedIndexes: "x"',
      '',
      [
        'status.failedIndexes: Invalid value: "x": error parsing failedIndexes: cannot ' +
          'convert string to integer for index: "x"',
      ],
      PER_INDEX,
    ],
    [
      'failed ones that do not count',
      'failedIndexes: "1"',
      '',
      [
        'status.failedIndexes: Invalid value: "1": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
      ],
      INDEXED,
    ],
    [
      'both completed and failed',
      'completedIndexes: "0-2", failedIndexes: "2,4"',
      '',
      [
        'status.failedIndexes: Invalid value: "2,4": failedIndexes and completedIndexes overlap at index: 2',
      ],
      PER_INDEX,
    ],
  ])('%s', check);
});
