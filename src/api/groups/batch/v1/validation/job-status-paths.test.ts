// The paths and types of errors in many updates of a job's status.

import { describe, expect, test } from 'vitest';

import { manifest } from '#api/testing/manifest.ts';
import * as validation from './index.ts';
import type { Job } from './types.ts';

function job(status: string, spec = ''): Job {
  const template =
    'template: {spec: {restartPolicy: OnFailure, containers: [{name: abc, image: image}]}}';
  return manifest(
    'batch/v1.Job',
    `metadata: {name: myjob}\nspec: {${template}, ${spec}}\nstatus: {${status}}`,
  );
}

const conditions = (...types: string[]): string =>
  `conditions: [${types.map((type) => `{type: ${type}, status: "True"}`).join(', ')}]`;
const START = 'startTime: "2026-01-01T00:00:00Z"';
const LATER = 'startTime: "2026-01-01T00:01:00Z"';
const END = 'completionTime: "2026-01-01T00:00:00Z"';
const END_LATER = 'completionTime: "2026-01-01T00:01:00Z"';
const OK = 'SuccessCriteriaMet';
const FIVE = 'completions: 5';
const INDEXED = `${FIVE}, completionMode: Indexed`;
const PER_INDEX = `${INDEXED}, backoffLimitPerIndex: 1`;
const POLICY =
  'completions: 10, completionMode: Indexed, successPolicy: {rules: [{succeededIndexes: 0-2}]}';

type Case = [what: string, old: string, status: string, errors: string[], spec?: string];

function check(_what: string, old: string, status: string, errors: string[], spec?: string): void {
  const found = validation.validateJobStatusUpdate(job(status, spec), job(old, spec));
  expect(found.map((error) => `${error.field} ${error.type.replace('FieldValue', '')}`)).toEqual(
    errors,
  );
}

const REFUSED = 'status.conditions Invalid';

describe('the end of a job', () => {
  test.each<Case>([
    [
      'complete and failed',
      '',
      `${START}, ${END}, ${conditions('Complete', 'Failed')}`,
      [REFUSED, REFUSED, REFUSED],
    ],
    ['complete without success', '', `${START}, ${END}, ${conditions('Complete')}`, [REFUSED]],
    ['failed without a reason', '', `${START}, ${conditions('Failed')}`, [REFUSED]],
    [
      'complete and failing',
      '',
      `${START}, ${END}, ${conditions('Complete', 'FailureTarget')}`,
      [REFUSED, REFUSED],
    ],
    ['no end of a job that runs', `${START}, ${END}`, START, []],
    [
      'failed without a beginning',
      conditions('FailureTarget'),
      conditions('FailureTarget', 'Failed'),
      ['status.startTime Required'],
    ],
    [
      'complete without one',
      conditions(OK),
      `${END}, ${conditions(OK, 'Complete')}`,
      ['status.startTime Required'],
    ],
    [
      'complete without one: suspended, with nothing to do',
      '',
      `${END}, ${conditions(OK, 'Complete')}`,
      [],
      'completions: 0, suspend: true',
    ],
    [
      'complete without one: nothing to do',
      '',
      `${END}, ${conditions(OK, 'Complete')}`,
      ['status.startTime Required'],
      'completions: 0',
    ],
    [
      'complete without one: suspended',
      '',
      `${END}, ${conditions(OK, 'Complete')}`,
      ['status.startTime Required'],
      'completions: 1, suspend: true',
    ],
    [
      'complete with pods',
      `${START}, active: 1, ${conditions(OK)}`,
      `${START}, ${END}, active: 1, ${conditions(OK, 'Complete')}`,
      ['status.active Invalid'],
    ],
    [
      'failed with pods that end',
      `${START}, terminating: 1, ${conditions('FailureTarget')}`,
      `${START}, terminating: 1, ${conditions('FailureTarget', 'Failed')}`,
      ['status.terminating Invalid'],
    ],
    [
      'failed with pods',
      `${START}, active: 1, ${conditions('FailureTarget')}`,
      `${START}, active: 1, ${conditions('FailureTarget', 'Failed')}`,
      ['status.active Invalid'],
    ],
    [
      'failed with pods to be counted',
      `${START}, uncountedTerminatedPods: {failed: [a]}, ${conditions('FailureTarget')}`,
      `${START}, uncountedTerminatedPods: {failed: [a]}, ${conditions('FailureTarget', 'Failed')}`,
      ['status.uncountedTerminatedPods Invalid'],
    ],
    [
      'complete with pods to be counted',
      `${START}, uncountedTerminatedPods: {succeeded: [a]}, ${conditions(OK)}`,
      `${START}, ${END}, uncountedTerminatedPods: {succeeded: [a]}, ${conditions(OK, 'Complete')}`,
      ['status.uncountedTerminatedPods Invalid'],
    ],
    [
      'complete with others to be counted',
      `${START}, ${END}, uncountedTerminatedPods: {failed: [a]}, ${conditions('Complete')}`,
      `${START}, ${END}, uncountedTerminatedPods: {failed: [b]}, ${conditions('Complete')}`,
      ['status.uncountedTerminatedPods Invalid'],
    ],
    [
      'complete with the same to be counted',
      `${START}, ${END}, uncountedTerminatedPods: {failed: [a]}, ${conditions('Complete')}`,
      `${START}, ${END}, uncountedTerminatedPods: {failed: [a]}, ${conditions('Complete', 'CustomJobCondition')}`,
      [],
    ],
    [
      'complete without an end',
      `${START}, ${conditions(OK)}`,
      `${START}, ${conditions(OK, 'Complete')}`,
      ['status.completionTime Required'],
    ],
    [
      'complete without an end any more',
      `${END}, ${conditions('Complete')}`,
      `${START}, ${conditions('Complete')}`,
      ['status.completionTime Required'],
    ],
    [
      'an end before the beginning',
      `${LATER}, ${conditions(OK)}`,
      `${LATER}, ${END}, ${conditions(OK, 'Complete')}`,
      ['status.completionTime Invalid'],
    ],
    [
      'another end',
      `${END}, ${conditions('Complete')}`,
      `${START}, ${END_LATER}, ${conditions('Complete')}`,
      ['status.completionTime Invalid'],
    ],
    ['an end while it runs', '', END, ['status.completionTime Invalid']],
    ['an end while it runs, as before', END, `${END}, active: 1`, []],
    ['not failed any more', conditions('Failed'), '', [REFUSED]],
    ['not complete any more', conditions('Complete'), '', [REFUSED]],
    ['not failing any more', conditions('FailureTarget'), '', [REFUSED]],
    [
      'failing after all',
      `${START}, ${END}, ${conditions('Complete')}`,
      `${START}, ${END}, ${conditions('Complete', 'FailureTarget')}`,
      [REFUSED],
    ],
  ])('%s', check);
});

describe('the beginning of a job', () => {
  test.each<Case>([
    ['none while suspended', START, '', [], 'suspend: true'],
    ['none any more', START, '', ['status.startTime Invalid']],
    ['another', START, LATER, ['status.startTime Invalid']],
    ['the first', '', START, []],
    [
      'another, as it is resumed',
      `${START}, ${conditions('Suspended')}`,
      `${LATER}, conditions: [{type: Suspended, status: "False"}]`,
      [],
    ],
    [
      'another, as it still rests',
      `${START}, ${conditions('Suspended')}`,
      `${LATER}, ${conditions('Suspended')}`,
      ['status.startTime Invalid'],
    ],
    [
      'another, having been resumed',
      `${START}, conditions: [{type: Suspended, status: "False"}]`,
      `${LATER}, conditions: [{type: Suspended, status: "False"}]`,
      ['status.startTime Invalid'],
    ],
  ])('%s', check);
});

describe('what a job counts', () => {
  test.each<Case>([
    [
      'completed, without indexes',
      '',
      `${START}, completedIndexes: "0"`,
      ['status.completedIndexes Invalid'],
      FIVE,
    ],
    [
      'completed, without indexes, as before',
      'completedIndexes: "0"',
      'completedIndexes: "0", active: 1',
      [],
      FIVE,
    ],
    [
      'failed, without a limit',
      '',
      'failedIndexes: "0"',
      ['status.failedIndexes Invalid'],
      INDEXED,
    ],
    ['less failed', 'failed: 3', 'failed: 1', ['status.failed Invalid'], FIVE],
    ['less succeeded', 'succeeded: 3', 'succeeded: 1', ['status.succeeded Invalid'], FIVE],
    [
      'completed: not indexes',
      '',
      'completedIndexes: invalid format',
      ['status.completedIndexes Invalid'],
      INDEXED,
    ],
    [
      'completed: not indexes, as before',
      'completedIndexes: invalid format',
      'completedIndexes: invalid format, active: 1',
      [],
      INDEXED,
    ],
    [
      'failed: not indexes',
      '',
      'failedIndexes: invalid format',
      ['status.failedIndexes Invalid'],
      PER_INDEX,
    ],
    [
      'failed: not indexes, as before',
      'failedIndexes: invalid format',
      'failedIndexes: invalid format, active: 1',
      [],
      PER_INDEX,
    ],
    ['more ready than there are', '', 'active: 1, ready: 2', ['status.ready Invalid'], FIVE],
    [
      'more ready than there are, as before',
      'active: 1, ready: 2',
      'active: 1, ready: 2, succeeded: 1',
      [],
      FIVE,
    ],
    [
      'both completed and failed',
      'failedIndexes: "0,2", completedIndexes: 3-4',
      'failedIndexes: "0,2", completedIndexes: 2-4',
      ['status.failedIndexes Invalid'],
      INDEXED,
    ],
    [
      'both completed and failed, as before',
      'failedIndexes: "0,2", completedIndexes: 2-4',
      'failedIndexes: "0,2", completedIndexes: 2-4, active: 1',
      [],
      INDEXED,
    ],
  ])('%s', check);
});

describe('when a job has succeeded', () => {
  const done = `${START}, ${END}`;
  test.each<Case>([
    ['without a policy', '', conditions(OK), []],
    ['with one', '', conditions(OK), [], POLICY],
    [
      'without a policy, indexed',
      '',
      conditions(OK),
      [],
      'completions: 10, completionMode: Indexed',
    ],
    [
      'then it is complete',
      `${START}, ${conditions(OK)}`,
      `${done}, ${conditions(OK, 'Complete')}`,
      [],
      POLICY,
    ],
    [
      'not if it failed',
      `${START}, ${conditions('Failed')}`,
      `${START}, ${conditions('Failed', OK)}`,
      [REFUSED],
      POLICY,
    ],
    [
      'then it does not fail',
      `${START}, ${conditions(OK, 'FailureTarget')}`,
      `${START}, ${conditions(OK, 'FailureTarget', 'Failed')}`,
      [REFUSED, REFUSED],
      POLICY,
    ],
    [
      'not if it is to fail',
      conditions('FailureTarget'),
      conditions('FailureTarget', OK),
      [REFUSED],
      POLICY,
    ],
    ['then it is not to fail', conditions(OK), conditions(OK, 'FailureTarget'), [REFUSED], POLICY],
    [
      'not once it is complete',
      `${done}, ${conditions('Complete')}`,
      `${done}, ${conditions('Complete', OK)}`,
      [REFUSED],
      POLICY,
    ],
    [
      'before it is complete',
      START,
      `${done}, ${conditions('Complete')}`,
      [REFUSED, REFUSED],
      POLICY,
    ],
    [
      'and then not',
      conditions(OK),
      'conditions: [{type: Complete, status: "False"}]',
      [REFUSED],
      POLICY,
    ],
    ['and then nothing is said', conditions(OK), '', [REFUSED], POLICY],
    [
      'and then it is false',
      conditions(OK),
      `conditions: [{type: ${OK}, status: "False"}]`,
      [REFUSED],
      POLICY,
    ],
  ])('%s', check);
});
