// Validation of admission policies and their bindings. Messages and paths are upstream's
// (pkg/apis/admissionregistration/validation).

import { deepEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach, nonEmpty, optionalOneOf } from '#api/groups/core/v1/validation/common.ts';
import { validateConditions } from '#api/machinery/meta/v1/conditions.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ExpressionCompiler } from '../expressions.ts';
import type * as admission from '../types.ts';
import {
  compiled,
  FAILURE_POLICIES,
  matchConditions,
  matchConstraints,
  matchResources,
  mutableOperations,
  pathSegment,
  requiredOneOf,
} from './rules.ts';

type ValidatingPolicy = Immutable<admission.ValidatingAdmissionPolicy>;
type MutatingPolicy = Immutable<admission.MutatingAdmissionPolicy>;
type ValidatingBinding = Immutable<admission.ValidatingAdmissionPolicyBinding>;
type MutatingBinding = Immutable<admission.MutatingAdmissionPolicyBinding>;
type Policy = ValidatingPolicy | MutatingPolicy;

const SPEC = field.path('spec');
const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const ACTIONS = ['Audit', 'Deny', 'Warn'];
const PATCH_TYPES = ['ApplyConfiguration', 'JSONPatch'];
const MAX_AUDIT_ANNOTATIONS = 20;
const MAX_AUDIT_EXPRESSION = 5 * 1024;
const NOTHING = 'validations or auditAnnotations must contain at least one item';
const BOTH =
  'must not contain both Deny and Warn (repeating the same validation failure information ' +
  'in the API response and headers serves no purpose)';
const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const RESERVED: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package ' +
    'namespace return var void while'
  ).split(' '),
);

/** Validates a policy. `old`: absent on create. */
export function validateValidatingAdmissionPolicy(
  policy: ValidatingPolicy,
  old?: ValidatingPolicy,
): FieldErrorList {
  const { validations = [], auditAnnotations = [] } = policy.spec;
  const compiler = compilerOf(policy);
  const errors = commonRules(policy, old, compiler);
  if (validations.length === 0 && auditAnnotations.length === 0) {
    return [
      ...errors,
      field.required(SPEC.child('validations'), NOTHING),
      field.required(SPEC.child('auditAnnotations'), NOTHING),
    ];
  }
  errors.push(
    ...validations.flatMap((each, index) =>
      oneValidation(each, compiler, SPEC.child('validations').index(index)),
    ),
  );
  const at = SPEC.child('auditAnnotations');
  if (auditAnnotations.length > MAX_AUDIT_ANNOTATIONS) {
    errors.push(
      field.invalid(
        at,
        auditAnnotations,
        `must not have more than ${MAX_AUDIT_ANNOTATIONS} auditAnnotations`,
      ),
    );
  }
  const keys = new Set<string>();
  auditAnnotations.forEach((annotation, index) => {
    errors.push(...auditAnnotation(annotation, policy.metadata.name, compiler, at.index(index)));
    if (keys.has(annotation.key))
      errors.push(field.duplicate(at.index(index).child('key'), annotation.key));
    keys.add(annotation.key);
  });
  return errors;
}

export function validateMutatingAdmissionPolicy(
  policy: MutatingPolicy,
  old?: MutatingPolicy,
): FieldErrorList {
  const { mutations = [], reinvocationPolicy = '', matchConstraints: constraints } = policy.spec;
  // Mutations see `variables` even if there are none, as upstream.
  const compiler = compilerOf(policy, true);
  const errors = commonRules(policy, old, compiler);
  if (constraints !== undefined)
    errors.push(...mutableOperations(constraints, SPEC.child('matchConstraints')));
  const at = SPEC.child('mutations');
  if (mutations.length === 0)
    errors.push(field.required(at, 'mutations must contain at least one item'));
  errors.push(...mutations.flatMap((each, index) => mutation(each, compiler, at.index(index))));
  const path = SPEC.child('reinvocationPolicy');
  if (reinvocationPolicy === '') errors.push(field.required(path));
  else errors.push(...optionalOneOf(reinvocationPolicy, ['IfNeeded', 'Never'], path));
  return errors;
}

function compilerOf(
  { spec }: Policy,
  hasVariables = (spec.variables ?? []).length > 0,
): ExpressionCompiler {
  return new ExpressionCompiler({
    hasParams: spec.paramKind !== undefined,
    hasVariables,
  });
}

function commonRules(
  { spec }: Policy,
  old: Policy | undefined,
  compiler: ExpressionCompiler,
): FieldErrorList {
  // Conditions that were accepted before stay valid in the same context.
  const sameConditions =
    old !== undefined &&
    deepEqual(spec.paramKind, old.spec.paramKind) &&
    deepEqual(spec.matchConditions, old.spec.matchConditions);
  return [
    ...requiredOneOf(spec.failurePolicy, FAILURE_POLICIES, SPEC.child('failurePolicy')),
    ...(spec.paramKind === undefined ? [] : paramKind(spec.paramKind, SPEC.child('paramKind'))),
    ...matchConstraints(spec.matchConstraints, SPEC.child('matchConstraints')),
    ...(sameConditions
      ? []
      : matchConditions(spec.matchConditions ?? [], compiler, SPEC.child('matchConditions'))),
    ...(spec.variables ?? []).flatMap((each, index) =>
      variable(each, compiler, SPEC.child('variables').index(index)),
    ),
  ];
}

function paramKind(
  { apiVersion = '', kind = '' }: Immutable<admission.ParamKind>,
  at: FieldPath,
): FieldErrorList {
  const errors = groupVersion(apiVersion, at.child('apiVersion'));
  if (kind === '') return [...errors, field.required(at.child('kind'))];
  const problems = validation.isDNS1035Label(kind.toLowerCase());
  if (problems.length > 0) {
    const message = `may have mixed case, but should otherwise match: ${problems.join(',')}`;
    errors.push(field.invalid(at.child('kind'), kind, message));
  }
  return errors;
}

function groupVersion(apiVersion: string, at: FieldPath): FieldErrorList {
  if (apiVersion === '') return [field.required(at)];
  const parts = apiVersion === '/' ? ['', ''] : apiVersion.split('/');
  if (parts.length > 2)
    return [field.invalid(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  const version = parts.at(-1) ?? '';
  const group = parts.length === 2 ? (parts[0] ?? '') : '';
  const all = (value: string, problems: readonly string[]): FieldErrorList =>
    problems.length === 0 ? [] : [field.invalid(at, value, problems.join(','))];
  return [
    ...(group === '' ? [] : all(group, validation.isDNS1123Subdomain(group))),
    ...(version === ''
      ? [field.invalid(at, apiVersion, 'version must be specified')]
      : all(version, validation.isDNS1035Label(version))),
  ];
}

function variable(
  { name, expression }: Immutable<admission.Variable>,
  compiler: ExpressionCompiler,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (name.trim() === '') errors.push(field.required(at.child('name'), 'name is not specified'));
  else if (!IDENTIFIER.test(name) || RESERVED.has(name)) {
    errors.push(field.invalid(at.child('name'), name, 'must be a valid CEL identifier'));
  }
  const path = at.child('expression');
  if (expression.trim() === '') errors.push(field.required(path, 'expression is not specified'));
  else errors.push(...compiled(() => compiler.compileVariable(name, expression), expression, path));
  return errors;
}

function oneValidation(
  each: Immutable<admission.Validation>,
  compiler: ExpressionCompiler,
  at: FieldPath,
): FieldErrorList {
  const { expression, message = '', messageExpression = '', reason } = each;
  const errors: FieldErrorList = [];
  const path = at.child('expression');
  if (expression.trim() === '') errors.push(field.required(path, 'expression is not specified'));
  else errors.push(...compiled(() => compiler.compile(expression, 'validation'), expression, path));
  const place = at.child('messageExpression');
  if (messageExpression.trim() !== '') {
    errors.push(
      ...compiled(() => compiler.compile(messageExpression, 'message'), messageExpression, place),
    );
  } else if (messageExpression !== '')
    errors.push(field.invalid(place, messageExpression, 'must be non-empty if specified'));
  if (message !== '' && message.trim() === '') {
    errors.push(
      field.invalid(at.child('message'), message, 'message must be non-empty if specified'),
    );
  } else if (/[\n\r]/.test(message.trim())) {
    errors.push(field.invalid(at.child('message'), message, 'must not contain line breaks'));
  }
  return [...errors, ...optionalOneOf(reason, REASONS, at.child('reason'))];
}

function auditAnnotation(
  { key, valueExpression }: Immutable<admission.AuditAnnotation>,
  policyName: string | undefined,
  compiler: ExpressionCompiler,
  at: FieldPath,
): FieldErrorList {
  const errors =
    policyName === undefined || policyName === ''
      ? [field.invalid(at.child('key'), key, 'requires metadata.name be non-empty')]
      : invalidEach(
          at.child('key'),
          `${policyName}/${key}`,
          validation.isQualifiedName(`${policyName}/${key}`),
        );
  const path = at.child('valueExpression');
  const expression = valueExpression.trim();
  if (expression === '') errors.push(field.required(path, 'valueExpression is not specified'));
  else if (Buffer.byteLength(expression) > MAX_AUDIT_EXPRESSION) {
    errors.push(field.required(path, `must not exceed ${MAX_AUDIT_EXPRESSION} bytes in length`));
  } else
    errors.push(
      ...compiled(() => compiler.compile(expression, 'auditAnnotation'), valueExpression, path),
    );
  return errors;
}

function mutation(
  each: Immutable<admission.Mutation>,
  compiler: ExpressionCompiler,
  at: FieldPath,
): FieldErrorList {
  const patchType: string = each.patchType;
  if (patchType === '') return [field.required(at.child('patchType'))];
  const ways = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const;
  const [required, other] =
    patchType === 'ApplyConfiguration'
      ? [ways.ApplyConfiguration, ways.JSONPatch]
      : patchType === 'JSONPatch'
        ? [ways.JSONPatch, ways.ApplyConfiguration]
        : [];
  if (required === undefined || other === undefined)
    return [field.notSupported(at.child('patchType'), patchType, PATCH_TYPES)];
  const errors: FieldErrorList = [];
  if (each[other] !== undefined) {
    errors.push(
      field.invalid(
        at.child(other),
        `{${other}}`,
        `must not be specified when patchType is ${patchType}`,
      ),
    );
  }
  const way = each[required];
  if (way === undefined) {
    return [
      ...errors,
      field.required(at.child(required), `must be specified when patchType is ${patchType}`),
    ];
  }
  const expression = (way.expression ?? '').trim();
  const path = at.child(required, 'expression');
  if (expression === '') return [...errors, field.required(path)];
  return [...errors, ...compiled(() => compiler.compile(expression, required), expression, path)];
}

export function validateValidatingAdmissionPolicyStatus({
  status,
}: ValidatingPolicy): FieldErrorList {
  const at = field.path('status', 'typeChecking', 'expressionWarnings');
  return [
    ...(status.typeChecking?.expressionWarnings ?? []).flatMap(({ fieldRef, warning }, index) => [
      ...nonEmpty(warning, at.index(index).child('warning')),
      ...nonEmpty(fieldRef.trim(), at.index(index).child('fieldRef')),
    ]),
    ...validateConditions(status.conditions, field.path('status', 'conditions')),
  ];
}

export function validateValidatingAdmissionPolicyBinding({
  spec,
}: ValidatingBinding): FieldErrorList {
  return [
    ...bindingRules(spec),
    ...(spec.matchResources === undefined
      ? []
      : matchResources(spec.matchResources, SPEC.child('matchResources'))),
    ...validationActions(spec.validationActions ?? [], SPEC.child('validationActions')),
  ];
}

export function validateMutatingAdmissionPolicyBinding({ spec }: MutatingBinding): FieldErrorList {
  const at = SPEC.child('matchResources');
  if (spec.matchResources === undefined) return bindingRules(spec);
  return [
    ...bindingRules(spec),
    ...matchResources(spec.matchResources, at),
    ...mutableOperations(spec.matchResources, at),
  ];
}

function bindingRules({
  policyName = '',
  paramRef: ref,
}: ValidatingBinding['spec'] | MutatingBinding['spec']): FieldErrorList {
  const at = SPEC.child('policyName');
  return [
    ...(policyName === ''
      ? [field.required(at)]
      : invalidEach(at, policyName, validation.isDNS1123Subdomain(policyName))),
    ...(ref === undefined ? [] : paramRef(ref, SPEC.child('paramRef'))),
  ];
}

function paramRef(ref: Immutable<admission.ParamRef>, at: FieldPath): FieldErrorList {
  const { name = '', selector, parameterNotFoundAction: action = '' } = ref;
  const both = name !== '' && selector !== undefined;
  const exclusive = (part: string): FieldErrorList =>
    both ? [field.forbidden(at.child(part), 'name and selector are mutually exclusive')] : [];
  return [
    ...invalidEach(at.child('name'), name, pathSegment(name)),
    ...exclusive('name'),
    ...validateLabelSelector(selector, at.child('selector')),
    ...exclusive('selector'),
    ...(name === '' && selector === undefined
      ? [field.required(at, 'one of name or selector must be specified')]
      : []),
    ...(action === ''
      ? [field.required(at.child('parameterNotFoundAction'))]
      : optionalOneOf(action, ['Deny', 'Allow'], at.child('parameterNotFoundAction'))),
  ];
}

function validationActions(actions: readonly string[], at: FieldPath): FieldErrorList {
  if (actions.length === 0)
    return [field.required(at, 'at least one validation action is required')];
  const errors = actions.flatMap((action, index) => [
    ...optionalOneOf(action, ACTIONS, at.index(index)),
    ...(actions.indexOf(action) < index ? [field.duplicate(at.index(index), action)] : []),
  ]);
  if (actions.includes('Deny') && actions.includes('Warn'))
    errors.push(field.invalid(at, actions, BOTH));
  return errors;
}
