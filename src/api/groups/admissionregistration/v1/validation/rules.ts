// Validation of matched requests: operations, groups, versions and resources, by name, by selector,
// and under conditions. Webhooks and policies share it. Messages and paths are upstream's
// (pkg/apis/admissionregistration/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach, nonEmpty, optionalOneOf } from '#api/groups/core/v1/validation/common.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { CompiledExpression, ExpressionCompiler } from '../expressions.ts';
import type * as admission from '../types.ts';

type MatchCondition = Immutable<admission.MatchCondition>;
type MatchResources = Immutable<admission.MatchResources>;
type NamedRule = Immutable<admission.NamedRuleWithOperations>;
type RuleWithOperations = Immutable<admission.RuleWithOperations>;
type Selector = Parameters<typeof validateLabelSelector>[0];

export const FAILURE_POLICIES = ['Fail', 'Ignore'];
export const MATCH_POLICIES = ['Equivalent', 'Exact'];
export const REINVOCATION_POLICIES = ['IfNeeded', 'Never'];
const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const MUTABLE_OPERATIONS = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const SCOPES = ['*', 'Cluster', 'Namespaced'];
const MAX_CONDITIONS = 64;

export function ruleWithOperations(rule: RuleWithOperations, at: FieldPath): FieldErrorList {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  return [
    ...wildcardAlone(operations, 'operations', at.child('operations')),
    ...operations.flatMap((operation, index) =>
      optionalOneOf(operation, OPERATIONS, at.child('operations').index(index)),
    ),
    ...wildcardAlone(apiGroups, 'API groups', at.child('apiGroups')),
    ...wildcardAlone(apiVersions, 'API versions', at.child('apiVersions')),
    ...apiVersions.flatMap((version, index) =>
      nonEmpty(version, at.child('apiVersions').index(index)),
    ),
    ...resourcesAndSubresources(resources, at.child('resources')),
    ...optionalOneOf(scope, SCOPES, at.child('scope')),
  ];
}

/** Requires at least one item; `*` must be the only one. */
function wildcardAlone(list: readonly string[], what: string, at: FieldPath): FieldErrorList {
  if (list.length === 0) return [field.required(at)];
  if (list.length === 1 || !list.includes('*')) return [];
  return [field.invalid(at, list, `if '*' is present, must not specify other ${what}`)];
}

function resourcesAndSubresources(resources: readonly string[], at: FieldPath): FieldErrorList {
  if (resources.length === 0) return [field.required(at)];
  const errors: FieldErrorList = [];
  /** The resources in x/*, and the subresources in *\/x. */
  const allOf = new Set<string>();
  const ofAll = new Set<string>();
  let last = '';
  resources.forEach((name, index) => {
    if (name === '') {
      errors.push(field.required(at.index(index)));
      return;
    }
    const slash = name.indexOf('/');
    if (slash < 0) {
      last = name;
      return;
    }
    const resource = name.slice(0, slash);
    const subresource = name.slice(slash + 1);
    const covered = (by: string): void => {
      errors.push(
        field.invalid(at.index(index), name, `if '${by}' is present, must not specify ${name}`),
      );
    };
    if (allOf.has(resource)) covered(`${resource}/*`);
    if (ofAll.has(subresource)) covered(`*/${subresource}`);
    if (subresource === '*') allOf.add(resource);
    if (resource === '*') ofAll.add(subresource);
  });
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(
      field.invalid(at, resources, "if '*/*' is present, must not specify other resources"),
    );
  }
  // As in upstream, only the last resource without a subresource counts.
  if (resources.includes('*') && last !== '*') {
    const message = "if '*' is present, must not specify other resources without subresources";
    errors.push(field.invalid(at, resources, message));
  }
  return errors;
}

function namedRule(rule: NamedRule, at: FieldPath): FieldErrorList {
  const names = rule.resourceNames ?? [];
  return [
    ...names.flatMap((name, index) => [
      ...invalidEach(at.child('resourceNames').index(index), name, pathSegment(name)),
      ...(names.indexOf(name) < index
        ? [field.duplicate(at.child('resourceNames').index(index), name)]
        : []),
    ]),
    ...ruleWithOperations(rule, at),
  ];
}

export function matchResources(match: MatchResources, at: FieldPath): FieldErrorList {
  const { matchPolicy, resourceRules = [], excludeResourceRules = [] } = match;
  return [
    ...requiredOneOf(matchPolicy, MATCH_POLICIES, at.child('matchPolicy')),
    ...requiredSelector(match.namespaceSelector, at.child('namespaceSelector')),
    ...requiredSelector(match.objectSelector, at.child('objectSelector')),
    ...resourceRules.flatMap((rule, index) =>
      namedRule(rule, at.child('resourceRules').index(index)),
    ),
    ...excludeResourceRules.flatMap((rule, index) =>
      namedRule(rule, at.child('excludeResourceRules').index(index)),
    ),
  ];
}

/** Rejects DELETE: a mutation of an object that is being deleted has no effect. */
export function mutableOperations(match: MatchResources, at: FieldPath): FieldErrorList {
  const path = at.child('resourceRules', 'operations');
  return (match.resourceRules ?? []).flatMap(({ operations = [] }) =>
    operations.flatMap((operation) => optionalOneOf(operation, MUTABLE_OPERATIONS, path)),
  );
}

/**
 * Validates the constraints of a policy. At least one rule is required, because the types of its
 * expressions depend on it.
 */
export function matchConstraints(match: MatchResources | undefined, at: FieldPath): FieldErrorList {
  if (match === undefined) return [field.required(at)];
  const errors = matchResources(match, at);
  if ((match.resourceRules ?? []).length === 0)
    errors.push(field.required(at.child('resourceRules')));
  return errors;
}

export function matchConditions(
  list: readonly MatchCondition[],
  compiler: ExpressionCompiler,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList =
    list.length > MAX_CONDITIONS ? [field.tooMany(at, list.length, MAX_CONDITIONS)] : [];
  const names = new Set<string>();
  list.forEach(({ name, expression }, index) => {
    const path = at.index(index);
    const trimmed = expression.trim();
    if (trimmed === '') errors.push(field.required(path.child('expression')));
    else
      errors.push(
        ...compiled(
          () => compiler.compile(trimmed, 'matchCondition'),
          trimmed,
          path.child('expression'),
        ),
      );
    if (name === '') errors.push(field.required(path.child('name')));
    else errors.push(...invalidEach(path.child('name'), name, validation.isQualifiedName(name)));
    if (name !== '' && names.has(name)) errors.push(field.duplicate(path.child('name'), name));
    names.add(name);
  });
  return errors;
}

/** Compiles an expression and returns its errors. `shown`: the expression in the error. */
export function compiled(
  compile: () => CompiledExpression,
  shown: string,
  at: FieldPath,
): FieldErrorList {
  const tooLong = field.expressionsTooLong(at, shown);
  if (tooLong.length > 0) return tooLong;
  const { problem } = compile();
  return problem === undefined ? [] : [field.invalid(at, shown, problem)];
}

export function requiredOneOf(
  value: string | undefined,
  known: readonly string[],
  at: FieldPath,
): FieldErrorList {
  return value === undefined ? [field.required(at)] : optionalOneOf(value, known, at);
}

function requiredSelector(selector: Selector, at: FieldPath): FieldErrorList {
  return selector === undefined ? [field.required(at)] : validateLabelSelector(selector, at);
}

/** Returns the problems of a name that becomes a path segment. */
export function pathSegment(name: string): readonly string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%']
    .filter((part) => name.includes(part))
    .map((part) => `may not contain '${part}'`);
}
