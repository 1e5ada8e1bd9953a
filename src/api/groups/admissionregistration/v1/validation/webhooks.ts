// Validation of webhook configurations. Some rules are newer than others: objects that violated
// them before may continue to do so.

import { deepEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import * as validation from '#machinery/validation/validation.ts';
import { optionalOneOf } from '#api/groups/core/v1/validation/common.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ExpressionCompiler } from '../expressions.ts';
import type * as admission from '../types.ts';
import { clientConfig } from './client-config.ts';
import {
  FAILURE_POLICIES,
  MATCH_POLICIES,
  matchConditions,
  REINVOCATION_POLICIES,
  ruleWithOperations,
} from './rules.ts';

type Webhook = Immutable<admission.ValidatingWebhook | admission.MutatingWebhook>;
type Configuration = Immutable<
  admission.ValidatingWebhookConfiguration | admission.MutatingWebhookConfiguration
>;

const REVIEW_VERSIONS = ['v1', 'v1beta1'];
const SIDE_EFFECTS = ['None', 'NoneOnDryRun', 'Some', 'Unknown'];
const NO_SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
const WEBHOOKS = field.path('webhooks');

/** Rules that are not checked, because the old configuration violates them already. */
interface Leniency {
  readonly sideEffects: boolean;
  readonly reviewVersions: boolean;
  readonly names: boolean;
  readonly labelValues: boolean;
  readonly matchConditions: boolean;
}
const NONE: Leniency = {
  sideEffects: false,
  reviewVersions: false,
  names: false,
  labelValues: false,
  matchConditions: false,
};

/** Validates both kinds of configurations. */
export function validateWebhookConfiguration({ webhooks = [] }: Configuration): FieldErrorList {
  return configuration(webhooks, NONE);
}

export function validateWebhookConfigurationUpdate(
  { webhooks = [] }: Configuration,
  old: Configuration,
): FieldErrorList {
  const before: readonly Webhook[] = old.webhooks ?? [];
  return configuration(webhooks, {
    sideEffects: before.some(({ sideEffects }) => !NO_SIDE_EFFECTS.includes(sideEffects ?? '')),
    reviewVersions: before.some(
      ({ admissionReviewVersions: versions }) => versions.length > 0 && !isAccepted(versions),
    ),
    names: new Set(before.map(({ name }) => name)).size < before.length,
    labelValues: before.some((webhook) => selectors(webhook, false, WEBHOOKS).length > 0),
    matchConditions:
      webhooks.length === before.length &&
      webhooks.every((webhook, index) =>
        deepEqual(webhook.matchConditions, before[index]?.matchConditions),
      ),
  });
}

function configuration(webhooks: readonly Webhook[], lenient: Leniency): FieldErrorList {
  const names = new Set<string>();
  return webhooks.flatMap((each, index) => {
    const at = WEBHOOKS.index(index);
    const errors = [
      ...webhook(each, lenient, at),
      ...reviewVersions(each.admissionReviewVersions, lenient, at.child('admissionReviewVersions')),
    ];
    if (!lenient.names && each.name !== '' && names.has(each.name))
      errors.push(field.duplicate(at.child('name'), each.name));
    names.add(each.name);
    return errors;
  });
}

function webhook(each: Webhook, lenient: Leniency, at: FieldPath): FieldErrorList {
  const errors = [
    ...fullyQualifiedName(each.name, at.child('name')),
    ...(each.rules ?? []).flatMap((rule, index) =>
      ruleWithOperations(rule, at.child('rules').index(index)),
    ),
    ...optionalOneOf(each.failurePolicy, FAILURE_POLICIES, at.child('failurePolicy')),
    ...optionalOneOf(each.matchPolicy, MATCH_POLICIES, at.child('matchPolicy')),
    ...sideEffects(
      each,
      lenient.sideEffects ? SIDE_EFFECTS : NO_SIDE_EFFECTS,
      at.child('sideEffects'),
    ),
  ];
  const seconds = each.timeoutSeconds;
  if (seconds !== undefined && (seconds > 30 || seconds < 1)) {
    errors.push(
      field.invalid(
        at.child('timeoutSeconds'),
        seconds,
        'the timeout value must be between 1 and 30 seconds',
      ),
    );
  }
  errors.push(...selectors(each, lenient.labelValues, at));
  if ('reinvocationPolicy' in each) {
    errors.push(
      ...optionalOneOf(
        each.reinvocationPolicy,
        REINVOCATION_POLICIES,
        at.child('reinvocationPolicy'),
      ),
    );
  }
  errors.push(...clientConfig(each.clientConfig, at.child('clientConfig')));
  if (!lenient.matchConditions) {
    errors.push(
      ...matchConditions(
        each.matchConditions ?? [],
        new ExpressionCompiler(),
        at.child('matchConditions'),
      ),
    );
  }
  return errors;
}

function sideEffects(each: Webhook, known: readonly string[], at: FieldPath): FieldErrorList {
  // The field is always written: null if absent.
  const value = each.sideEffects ?? undefined;
  if (value === undefined) return [field.required(at, `must specify one of ${known.join(', ')}`)];
  return optionalOneOf(value, known, at);
}

function selectors(
  each: Webhook,
  allowInvalidLabelValueInSelector: boolean,
  at: FieldPath,
): FieldErrorList {
  return (['namespaceSelector', 'objectSelector'] as const).flatMap((name) =>
    validateLabelSelector(each[name], at.child(name), { allowInvalidLabelValueInSelector }),
  );
}

/** Validates a name with at least three parts, so that it contains its owner's domain. */
function fullyQualifiedName(name: string, at: FieldPath): FieldErrorList {
  if (name === '') return [field.required(at)];
  const problems = validation.isDNS1123Subdomain(name);
  if (problems.length > 0) return [field.invalid(at, name, problems.join(','))];
  if (name.split('.').length >= 3) return [];
  return [
    field.invalid(at, name, 'should be a domain with at least three segments separated by dots'),
  ];
}

const isAccepted = (versions: readonly string[]): boolean =>
  versions.some((version) => REVIEW_VERSIONS.includes(version));

function reviewVersions(
  versions: readonly string[],
  lenient: Leniency,
  at: FieldPath,
): FieldErrorList {
  if (versions.length === 0)
    return [field.required(at, `must specify one of ${REVIEW_VERSIONS.join(', ')}`)];
  const errors = versions.flatMap((version, index) =>
    versions.indexOf(version) < index
      ? [field.invalid(at.index(index), version, 'duplicate version')]
      : validation
          .isDNS1035Label(version)
          .map((problem) => field.invalid(at.index(index), version, problem)),
  );
  if (!lenient.reviewVersions && !isAccepted(versions)) {
    errors.push(
      field.invalid(at, versions, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`),
    );
  }
  return errors;
}
