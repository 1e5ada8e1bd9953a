// Validation of the spec of a job or of a cron job's template.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';
import * as validation from '#machinery/validation/validation.ts';
import { nonNegative } from '#api/groups/core/v1/validation/common.ts';
import { validatePodTemplate } from '#api/groups/core/v1/validation/index.ts';
import { podFailurePolicy } from './pod-failure-policy.ts';
import { successPolicy } from './success-policy.ts';
import type { JobSpec } from './types.ts';

/** Limits that bound the size of the status: completed and failed indexes. */
const MAX_PARALLELISM = 100_000;
const MAX_FAILED_INDEXES = 100_000;
/** The bounds are lower for more completions with a limit per index. */
const MANY_COMPLETIONS = 100_000;
const MAX_PARALLELISM_OF_MANY = 10_000;
const MAX_FAILED_INDEXES_OF_MANY = 10_000;

const MAX_MANAGED_BY_LENGTH = 63;
const COMPLETION_MODES = ['NonIndexed', 'Indexed'];
const REPLACEMENT_POLICIES = ['Failed', 'TerminatingOrFailed'];

/** Validates a job's spec. `old`: absent on create. */
export function jobSpec(spec: JobSpec, at: FieldPath, old?: JobSpec): FieldErrorList {
  return [
    ...numbers(spec, at),
    ...managedBy(spec.managedBy, at.child('managedBy')),
    ...completionMode(spec, at),
    ...(spec.podFailurePolicy === undefined
      ? []
      : podFailurePolicy(spec, at.child('podFailurePolicy'))),
    ...successPolicyOf(spec, at.child('successPolicy')),
    ...podReplacementPolicy(spec, at.child('podReplacementPolicy')),
    ...validatePodTemplate(spec.template, at.child('template'), old?.template),
    ...restartPolicy(spec, at.child('template', 'spec', 'restartPolicy')),
  ];
}

const NUMBERS = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const;

function numbers(spec: JobSpec, at: FieldPath): FieldErrorList {
  const errors = NUMBERS.flatMap((name) => nonNegative(spec[name], at.child(name)));
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    errors.push(
      field.required(at.child('backoffLimitPerIndex'), 'when maxFailedIndexes is specified'),
    );
  }
  return errors;
}

function managedBy(value: string | undefined, at: FieldPath): FieldErrorList {
  if (value === undefined) return [];
  const errors = validation.validateDomainPrefixedPath(value, at);
  if (value.length > MAX_MANAGED_BY_LENGTH)
    errors.push(field.tooLong(at, '', MAX_MANAGED_BY_LENGTH));
  return errors;
}

function completionMode(spec: JobSpec, at: FieldPath): FieldErrorList {
  const mode: string = spec.completionMode ?? 'NonIndexed';
  if (mode === 'Indexed') return indexed(spec, at);
  if (!COMPLETION_MODES.includes(mode))
    return [field.notSupported(at.child('completionMode'), mode, COMPLETION_MODES)];
  return (['backoffLimitPerIndex', 'maxFailedIndexes'] as const).flatMap((name) =>
    spec[name] === undefined
      ? []
      : [field.invalid(at.child(name), spec[name], 'requires indexed completion mode')],
  );
}

function indexed(spec: JobSpec, at: FieldPath): FieldErrorList {
  const { completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex } = spec;
  const errors: FieldErrorList = [];
  const atMost = (
    name: 'parallelism' | 'maxFailedIndexes',
    limit: number | 'completions',
    when = '',
  ): void => {
    errors.push(
      field.invalid(at.child(name), spec[name], `must be less than or equal to ${limit}${when}`),
    );
  };
  if (completions === undefined)
    errors.push(field.required(at.child('completions'), 'when completion mode is Indexed'));
  if (parallelism > MAX_PARALLELISM)
    atMost('parallelism', MAX_PARALLELISM, ' when completion mode is Indexed');
  if (maxFailedIndexes !== undefined) {
    if (completions !== undefined && maxFailedIndexes > completions)
      atMost('maxFailedIndexes', 'completions');
    if (maxFailedIndexes > MAX_FAILED_INDEXES) atMost('maxFailedIndexes', MAX_FAILED_INDEXES);
  }
  if (
    completions === undefined ||
    completions <= MANY_COMPLETIONS ||
    backoffLimitPerIndex === undefined
  )
    return errors;
  const when = ` when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
  if (maxFailedIndexes === undefined) {
    const message = `must be specified when completions is above ${MANY_COMPLETIONS}`;
    errors.push(field.required(at.child('maxFailedIndexes'), message));
  }
  if (parallelism > MAX_PARALLELISM_OF_MANY) atMost('parallelism', MAX_PARALLELISM_OF_MANY, when);
  if ((maxFailedIndexes ?? 0) > MAX_FAILED_INDEXES_OF_MANY)
    atMost('maxFailedIndexes', MAX_FAILED_INDEXES_OF_MANY, when);
  return errors;
}

function successPolicyOf(spec: JobSpec, at: FieldPath): FieldErrorList {
  if (spec.successPolicy === undefined) return [];
  if (spec.completionMode !== 'Indexed')
    return [field.invalid(at, spec.successPolicy, 'requires indexed completion mode')];
  return successPolicy(spec, at);
}

/** A failure policy evaluates failed pods, not terminating ones. */
function podReplacementPolicy(spec: JobSpec, at: FieldPath): FieldErrorList {
  const { podReplacementPolicy: policy } = spec;
  const allowedPolicies = spec.podFailurePolicy === undefined ? REPLACEMENT_POLICIES : ['Failed'];
  return policy === undefined || allowedPolicies.includes(policy)
    ? []
    : [field.notSupported(at, policy, allowedPolicies)];
}

const RESTART_POLICIES = ['OnFailure', 'Never'];

function restartPolicy(spec: JobSpec, at: FieldPath): FieldErrorList {
  const policy = spec.template.spec.restartPolicy ?? 'Always';
  // 'Always' is also the default, so it counts as missing.
  if (policy === 'Always')
    return [field.required(at, `valid values: ${RESTART_POLICIES.map(quote).join(', ')}`)];
  if (!RESTART_POLICIES.includes(policy)) return [field.notSupported(at, policy, RESTART_POLICIES)];
  return spec.podFailurePolicy === undefined || policy === 'Never'
    ? []
    : [field.invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')];
}
