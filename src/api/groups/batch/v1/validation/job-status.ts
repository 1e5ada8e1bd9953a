// Validation of a job's status. Other controllers may run a job (managedBy), so its readers rely on
// these rules. A rule is checked only if the fields in it change: a status that was invalid before
// may still be repaired, and a status may lag behind its spec.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import { nonNegative } from '#api/groups/core/v1/validation/common.ts';
import { hasCondition, isFinished } from '../job-conditions.ts';
import type { JobConditionType } from '../types.ts';
import { STATUS } from './common.ts';
import { commonIndex, countIndexes } from './indexes.ts';
import type { Job, JobStatus } from './types.ts';

const CONDITIONS = STATUS.child('conditions');

/** The properties of a status, and its differences from the previous one. */
interface Facts {
  readonly job: Job;
  readonly status: JobStatus;
  readonly complete: boolean;
  readonly failed: boolean;
  readonly failureTarget: boolean;
  readonly successCriteriaMet: boolean;
  readonly finished: boolean;
  changed(...names: readonly Aspect[]): boolean;
}

type Aspect =
  | keyof JobStatus
  | 'complete'
  | 'failedCondition'
  | 'failureTarget'
  | 'successCriteriaMet'
  | 'finished';

export function validateJobStatusUpdate(job: Job, old: Job): FieldErrorList {
  const facts = factsOf(job, old);
  return [
    ...counts(job.status),
    ...uncountedPods(job.status),
    ...completion(facts),
    ...outcome(facts),
    ...finishedJob(facts),
    ...indexSets(facts),
    ...runningPods(facts),
    ...successCriteria(facts),
    ...transition(facts, old),
  ];
}

function factsOf(job: Job, old: Job): Facts {
  const { status } = job;
  const of = (state: JobStatus): Record<string, boolean> => ({
    complete: hasCondition(state, 'Complete'),
    failedCondition: hasCondition(state, 'Failed'),
    failureTarget: hasCondition(state, 'FailureTarget'),
    successCriteriaMet: hasCondition(state, 'SuccessCriteriaMet'),
    finished: isFinished(state),
  });
  const now: Readonly<Record<string, unknown>> = { ...status, ...of(status) };
  const before: Readonly<Record<string, unknown>> = { ...old.status, ...of(old.status) };
  return {
    job,
    status,
    complete: hasCondition(status, 'Complete'),
    failed: hasCondition(status, 'Failed'),
    failureTarget: hasCondition(status, 'FailureTarget'),
    successCriteriaMet: hasCondition(status, 'SuccessCriteriaMet'),
    finished: isFinished(status),
    changed: (...names) => names.some((name) => !semanticEqual(now[name], before[name])),
  };
}

function counts(status: JobStatus): FieldErrorList {
  return (['active', 'succeeded', 'failed', 'ready', 'terminating'] as const).flatMap((name) =>
    nonNegative(status[name], STATUS.child(name)),
  );
}

function uncountedPods({ uncountedTerminatedPods: pods }: JobStatus): FieldErrorList {
  const errors: FieldErrorList = [];
  const seen = new Set<string>();
  for (const name of ['succeeded', 'failed'] as const) {
    (pods?.[name] ?? []).forEach((uid, index) => {
      const at = STATUS.child('uncountedTerminatedPods', name).index(index);
      if (uid === '') errors.push(field.invalid(at, uid, 'must not be empty'));
      else if (seen.has(uid)) errors.push(field.duplicate(at, uid));
      seen.add(uid);
    });
  }
  return errors;
}

/** Returns an error of the conditions as a whole. */
function conflict(message: string): FieldErrorList {
  return [field.invalid(CONDITIONS, field.omitValue, message)];
}

function completion({ status, complete, failed, failureTarget, changed }: Facts): FieldErrorList {
  const errors: FieldErrorList = [];
  if (changed('complete', 'failedCondition') && complete && failed) {
    errors.push(...conflict('cannot set Complete=True and Failed=true conditions'));
  }
  if (changed('complete', 'failureTarget') && complete && failureTarget) {
    errors.push(...conflict('cannot set Complete=True and FailureTarget=true conditions'));
  }
  const { startTime, completionTime } = status;
  const at = STATUS.child('completionTime');
  if (changed('complete', 'completionTime')) {
    if (completionTime !== undefined && !complete) {
      const message = 'cannot set completionTime when there is no Complete=True condition';
      errors.push(field.invalid(at, completionTime, message));
    }
    if (completionTime === undefined && complete) {
      errors.push(field.required(at, 'completionTime is required for Complete jobs'));
    }
  }
  if (
    changed('startTime', 'completionTime') &&
    startTime !== undefined &&
    completionTime !== undefined
  ) {
    if (Date.parse(completionTime) < Date.parse(startTime)) {
      errors.push(field.invalid(at, completionTime, 'must be equal to or after `startTime`'));
    }
  }
  return errors;
}

/** Validates that a failed or complete job had the condition which announces it. */
function outcome({
  complete,
  failed,
  failureTarget,
  successCriteriaMet,
  changed,
}: Facts): FieldErrorList {
  const errors: FieldErrorList = [];
  if (changed('failedCondition', 'failedIndexes') && failed && !failureTarget) {
    errors.push(
      ...conflict('cannot set Failed=True condition without the FailureTarget=true condition'),
    );
  }
  if (changed('complete', 'successCriteriaMet') && complete && !successCriteriaMet) {
    errors.push(
      ...conflict(
        'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
      ),
    );
  }
  return errors;
}

function finishedJob({ job, status, finished, changed }: Facts): FieldErrorList {
  if (!finished) return [];
  const errors: FieldErrorList = [];
  // A suspended job without completions is complete without a start.
  const neverBegins = job.spec.suspend === true && job.spec.completions === 0;
  const { active = 0, startTime, uncountedTerminatedPods: uncounted } = status;
  if (changed('finished', 'active') && active > 0) {
    errors.push(
      field.invalid(STATUS.child('active'), active, 'active>0 is invalid for finished job'),
    );
  }
  if (!neverBegins && changed('finished', 'startTime') && startTime === undefined) {
    errors.push(
      field.required(STATUS.child('startTime'), 'startTime is required for finished job'),
    );
  }
  if (changed('finished', 'uncountedTerminatedPods')) {
    const left = (uncounted?.failed ?? []).length + (uncounted?.succeeded ?? []).length;
    if (left > 0) {
      errors.push(
        field.invalid(
          STATUS.child('uncountedTerminatedPods'),
          uncounted,
          'must be empty for finished job',
        ),
      );
    }
  }
  return errors;
}

function indexSets({ job: { spec }, status, changed }: Facts): FieldErrorList {
  const errors: FieldErrorList = [];
  const { completions, backoffLimitPerIndex } = spec;
  const { completedIndexes = '', failedIndexes } = status;
  const completedPath = STATUS.child('completedIndexes');
  const failedPath = STATUS.child('failedIndexes');
  if (completions !== undefined && changed('completedIndexes')) {
    const problem = countIndexes(completedIndexes, completions);
    if (typeof problem === 'string') {
      errors.push(
        field.invalid(
          completedPath,
          completedIndexes,
          `error parsing completedIndexes: ${problem}`,
        ),
      );
    }
  }
  const failedChanged = changed('failedIndexes') && failedIndexes !== undefined;
  if (completions !== undefined && backoffLimitPerIndex !== undefined && failedChanged) {
    const problem = countIndexes(failedIndexes, completions);
    if (typeof problem === 'string') {
      errors.push(
        field.invalid(failedPath, failedIndexes, `error parsing failedIndexes: ${problem}`),
      );
    }
  }
  if (changed('completedIndexes') && completedIndexes !== '' && spec.completionMode !== 'Indexed') {
    const message = 'cannot set non-empty completedIndexes when non-indexed completion mode';
    errors.push(field.invalid(completedPath, completedIndexes, message));
  }
  if (backoffLimitPerIndex === undefined && failedChanged) {
    const message = 'cannot set non-null failedIndexes when backoffLimitPerIndex is null';
    errors.push(field.invalid(failedPath, failedIndexes, message));
  }
  if (
    completions !== undefined &&
    failedIndexes !== undefined &&
    changed('failedIndexes', 'completedIndexes')
  ) {
    const both = commonIndex(completedIndexes, failedIndexes, completions);
    if (both !== undefined) {
      const message = `failedIndexes and completedIndexes overlap at index: ${both}`;
      errors.push(field.invalid(failedPath, failedIndexes, message));
    }
  }
  return errors;
}

function runningPods({ status, finished, changed }: Facts): FieldErrorList {
  const errors: FieldErrorList = [];
  const { terminating = 0, ready, active = 0 } = status;
  if (changed('finished', 'terminating') && finished && terminating > 0) {
    errors.push(
      field.invalid(
        STATUS.child('terminating'),
        terminating,
        'terminating>0 is invalid for finished job',
      ),
    );
  }
  if (changed('ready', 'active') && ready !== undefined && ready > active) {
    errors.push(
      field.invalid(STATUS.child('ready'), ready, 'cannot set more ready pods than active'),
    );
  }
  return errors;
}

function successCriteria({
  job,
  successCriteriaMet,
  failed,
  failureTarget,
  complete,
}: Facts): FieldErrorList {
  const errors: FieldErrorList = [];
  if (successCriteriaMet && failed) {
    errors.push(...conflict('cannot set SuccessCriteriaMet=True and Failed=true conditions'));
  }
  if (successCriteriaMet && failureTarget) {
    errors.push(
      ...conflict('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'),
    );
  }
  if (job.spec.successPolicy !== undefined && !successCriteriaMet && complete) {
    errors.push(
      ...conflict(
        'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True',
      ),
    );
  }
  return errors;
}

const TERMINAL: readonly JobConditionType[] = ['Failed', 'Complete', 'FailureTarget'];

/** Validates transitions: some values cannot be taken back. */
function transition({ job, status, successCriteriaMet }: Facts, old: Job): FieldErrorList {
  const errors: FieldErrorList = [];
  const before = old.status;
  for (const type of TERMINAL) {
    if (hasCondition(before, type) && !hasCondition(status, type)) {
      errors.push(...conflict(`cannot disable the terminal ${type}=True condition`));
    }
  }
  const { failed = 0, succeeded = 0, startTime, completionTime } = status;
  if (failed < (before.failed ?? 0)) {
    errors.push(
      field.invalid(STATUS.child('failed'), failed, 'cannot decrease the failed counter'),
    );
  }
  // An indexed job whose pods all run in parallel can shrink, and then loses successful indexes.
  const { completionMode, completions, parallelism } = job.spec;
  const canShrink = completionMode === 'Indexed' && completions === parallelism;
  if (!canShrink && succeeded < (before.succeeded ?? 0)) {
    errors.push(
      field.invalid(STATUS.child('succeeded'), succeeded, 'cannot decrease the succeeded counter'),
    );
  }
  if (
    completionTime !== undefined &&
    before.completionTime !== undefined &&
    completionTime !== before.completionTime
  ) {
    errors.push(
      field.invalid(
        STATUS.child('completionTime'),
        completionTime,
        'completionTime cannot be mutated',
      ),
    );
  }
  // A resumed job starts again.
  const resumed = hasCondition(before, 'Suspended') && hasCondition(status, 'Suspended', 'False');
  if (
    before.startTime !== undefined &&
    startTime !== before.startTime &&
    job.spec.suspend !== true &&
    !resumed
  ) {
    errors.push(
      field.invalid(
        STATUS.child('startTime'),
        startTime ?? null,
        'field is immutable for unsuspended job once set',
      ),
    );
  }
  if (hasCondition(before, 'SuccessCriteriaMet') && !successCriteriaMet) {
    errors.push(...conflict('cannot disable the SuccessCriteriaMet=True condition'));
  }
  if (
    hasCondition(before, 'Complete') &&
    !hasCondition(before, 'SuccessCriteriaMet') &&
    successCriteriaMet
  ) {
    errors.push(
      ...conflict(
        'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
      ),
    );
  }
  return errors;
}
