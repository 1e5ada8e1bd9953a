// Validation of pod failure policies.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach } from '#api/groups/core/v1/validation/common.ts';
import { chosenFrom } from './common.ts';
import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
  PodFailurePolicyRule,
} from './types.ts';

const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;
const MAX_CONDITION_PATTERNS = 20;

const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const OPERATORS = ['In', 'NotIn'];
const STATUSES = ['False', 'True', 'Unknown'];

export function podFailurePolicy(spec: JobSpec, at: FieldPath): FieldErrorList {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const rulesPath = at.child('rules');
  const { containers, initContainers = [] } = spec.template.spec;
  const containerNames = new Set([...containers, ...initContainers].map(({ name }) => name));
  return [
    ...(rules.length > MAX_RULES ? [field.tooMany(rulesPath, rules.length, MAX_RULES)] : []),
    ...rules.flatMap((rule, index) =>
      failureRule(rule, spec, containerNames, rulesPath.index(index)),
    ),
  ];
}

function failureRule(
  rule: PodFailurePolicyRule,
  spec: JobSpec,
  containerNames: ReadonlySet<string>,
  at: FieldPath,
): FieldErrorList {
  const { action, onExitCodes, onPodConditions = [] } = rule;
  const actionPath = at.child('action');
  const errors = chosenFrom(action, ACTIONS, actionPath);
  if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined) {
    errors.push(field.invalid(actionPath, action, 'requires the backoffLimitPerIndex to be set'));
  }
  if (onExitCodes !== undefined)
    errors.push(...exitCodes(onExitCodes, containerNames, at.child('onExitCodes')));
  errors.push(...podConditions(onPodConditions, at.child('onPodConditions')));
  const hasConditions = onPodConditions.length > 0;
  if (onExitCodes !== undefined && hasConditions) {
    const message = 'specifying both OnExitCodes and OnPodConditions is not supported';
    errors.push(field.invalid(at, field.omitValue, message));
  }
  if (onExitCodes === undefined && !hasConditions) {
    errors.push(
      field.invalid(
        at,
        field.omitValue,
        'specifying one of OnExitCodes and OnPodConditions is required',
      ),
    );
  }
  return errors;
}

function exitCodes(
  { operator, containerName, values }: PodFailurePolicyOnExitCodesRequirement,
  containerNames: ReadonlySet<string>,
  at: FieldPath,
): FieldErrorList {
  const errors = chosenFrom(operator, OPERATORS, at.child('operator'));
  if (containerName !== undefined && !containerNames.has(containerName)) {
    const message = 'must be one of the container or initContainer names in the pod template';
    errors.push(field.invalid(at.child('containerName'), containerName, message));
  }
  const valuesPath = at.child('values');
  if (values.length === 0)
    errors.push(field.invalid(valuesPath, values, 'at least one value is required'));
  if (values.length > MAX_EXIT_CODES)
    errors.push(field.tooMany(valuesPath, values.length, MAX_EXIT_CODES));
  const seen = new Set<number>();
  values.forEach((value, index) => {
    const path = valuesPath.index(index);
    // Exit code 0 is not a failure.
    if (operator === 'In' && value === 0)
      errors.push(field.invalid(path, value, 'must not be 0 for the In operator'));
    if (seen.has(value)) errors.push(field.duplicate(path, value));
    seen.add(value);
  });
  const ordered = values.every((value, index) => index === 0 || values[index - 1]! <= value);
  if (!ordered) errors.push(field.invalid(valuesPath, values, 'must be ordered'));
  return errors;
}

function podConditions(
  patterns: readonly PodFailurePolicyOnPodConditionsPattern[],
  at: FieldPath,
): FieldErrorList {
  return [
    ...(patterns.length > MAX_CONDITION_PATTERNS
      ? [field.tooMany(at, patterns.length, MAX_CONDITION_PATTERNS)]
      : []),
    ...patterns.flatMap(({ type, status }, index) => {
      const path = at.index(index);
      return [
        ...invalidEach(path.child('type'), type, validation.isQualifiedName(type)),
        ...chosenFrom(status, STATUSES, path.child('status')),
      ];
    }),
  ];
}
