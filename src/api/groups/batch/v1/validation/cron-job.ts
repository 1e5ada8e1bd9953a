// Rules of cron jobs.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { nonNegative, oneOf } from '#api/groups/core/v1/validation/common.ts';
import { parseSchedule } from '../schedule.ts';
import { isTimeZone } from '../time-zones.ts';
import { nameOf, SPEC } from './common.ts';
import { jobSpec } from './job-spec.ts';
import type { CronJob, CronJobSpec, JobSpec } from './types.ts';

/**
 * The longest name. The name of each job is that of the cron job, a dash, and ten digits of the
 * time.
 */
const MAX_NAME_LENGTH = validation.DNS1035_LABEL_MAX_LENGTH - 11;

export function validateCronJob({ metadata, spec }: CronJob): FieldErrorList {
  const errors = cronJobSpec(spec, undefined);
  const name = nameOf(metadata);
  if (name.length > MAX_NAME_LENGTH) {
    errors.push(
      field.invalid(field.path('metadata', 'name'), name, validation.maxLenError(MAX_NAME_LENGTH)),
    );
  }
  return errors;
}

export function validateCronJobUpdate({ spec }: CronJob, old: CronJob): FieldErrorList {
  return cronJobSpec(spec, old.spec);
}

const CONCURRENCY_POLICIES = ['Allow', 'Forbid', 'Replace'];

function cronJobSpec(spec: CronJobSpec, old: CronJobSpec | undefined): FieldErrorList {
  return [
    ...schedule(spec, old?.schedule.includes('TZ') === true, SPEC.child('schedule')),
    ...nonNegative(spec.startingDeadlineSeconds, SPEC.child('startingDeadlineSeconds')),
    // A zone that was valid before may be unknown now.
    ...(old !== undefined && old.timeZone === spec.timeZone
      ? []
      : timeZone(spec.timeZone, SPEC.child('timeZone'))),
    ...oneOf(spec.concurrencyPolicy, CONCURRENCY_POLICIES, SPEC.child('concurrencyPolicy')),
    ...jobTemplate(spec.jobTemplate.spec, SPEC.child('jobTemplate', 'spec'), old?.jobTemplate.spec),
    ...nonNegative(spec.successfulJobsHistoryLimit, SPEC.child('successfulJobsHistoryLimit')),
    ...nonNegative(spec.failedJobsHistoryLimit, SPEC.child('failedJobsHistoryLimit')),
  ];
}

/** Validates a schedule. `allowZone`: it named its time zone before that was forbidden. */
function schedule(
  { schedule: text, timeZone: zone }: CronJobSpec,
  allowZone: boolean,
  at: FieldPath,
): FieldErrorList {
  if (text === '') return [field.required(at)];
  const errors: FieldErrorList = [];
  try {
    parseSchedule(text);
  } catch (error) {
    errors.push(field.invalid(at, text, (error as Error).message));
  }
  if (!text.includes('TZ')) return errors;
  if (!allowZone) {
    errors.push(
      field.invalid(at, text, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'),
    );
  } else if (zone !== undefined) {
    errors.push(
      field.invalid(at, text, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'),
    );
  }
  return errors;
}

/** A part of a zone's name, which elsewhere is the name of a file. */
const ZONE_PART = /^[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}$/;

function timeZone(zone: string | undefined, at: FieldPath): FieldErrorList {
  if (zone === undefined) return [];
  if (zone === '') return [field.invalid(at, zone, 'timeZone must be nil or non-empty string')];
  const unknown = field.invalid(at, zone, `unknown time zone ${zone}`);
  if (zone.split('/').some((part) => part === '.' || part === '..' || !ZONE_PART.test(part)))
    return [unknown];
  const errors: FieldErrorList = [];
  if (zone.toLowerCase() === 'local') {
    const message =
      'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
    errors.push(field.invalid(at, zone, message));
  }
  if (zone !== 'Local' && !isTimeZone(zone)) errors.push(unknown);
  return errors;
}

function jobTemplate(spec: JobSpec, at: FieldPath, old: JobSpec | undefined): FieldErrorList {
  const errors = jobSpec(spec, at, old);
  // The selector of each job is generated.
  if (spec.selector !== undefined) {
    errors.push(
      field.invalid(at.child('selector'), spec.selector, '`selector` will be auto-generated'),
    );
  }
  if (spec.manualSelector === true) {
    errors.push(field.notSupported(at.child('manualSelector'), true, ['nil', 'false']));
  }
  return errors;
}
