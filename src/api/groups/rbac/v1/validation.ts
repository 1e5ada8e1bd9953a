// Validation of roles and their bindings. Messages and paths are upstream's
// (pkg/apis/rbac/validation).

import { deepEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach } from '#api/groups/core/v1/validation/common.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { GROUP } from './defaults.ts';
import type * as rbac from './types.ts';

type Role = Immutable<rbac.Role>;
type ClusterRole = Immutable<rbac.ClusterRole>;
type Binding = Immutable<rbac.RoleBinding | rbac.ClusterRoleBinding>;
type Rule = Immutable<rbac.PolicyRule>;
type Subject = Immutable<rbac.Subject>;

export function validateRole({ rules }: Role): FieldErrorList {
  return (rules ?? []).flatMap((rule, index) =>
    policyRule(rule, true, field.path('rules').index(index)),
  );
}

export function validateClusterRole({ rules, aggregationRule }: ClusterRole): FieldErrorList {
  const errors = (rules ?? []).flatMap((rule, index) =>
    policyRule(rule, false, field.path('rules').index(index)),
  );
  if (aggregationRule === undefined) return errors;
  const at = field.path('aggregationRule', 'clusterRoleSelectors');
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    errors.push(
      field.required(at, 'at least one clusterRoleSelector required if aggregationRule is non-nil'),
    );
  }
  selectors.forEach((selector, index) => {
    const problems = validateLabelSelector(selector, at.index(index));
    errors.push(...problems);
    if (problems.length > 0)
      errors.push(field.invalid(at.index(index), selector, 'invalid label selector.'));
  });
  return errors;
}

function policyRule(rule: Rule, namespaced: boolean, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  if ((verbs ?? []).length === 0)
    errors.push(field.required(at.child('verbs'), 'verbs must contain at least one value'));
  if (nonResourceURLs.length > 0) {
    const urls = at.child('nonResourceURLs');
    if (namespaced)
      errors.push(
        field.invalid(urls, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs'),
      );
    if (apiGroups.length > 0 || resources.length > 0 || resourceNames.length > 0) {
      errors.push(
        field.invalid(
          urls,
          nonResourceURLs,
          'rules cannot apply to both regular resources and non-resource URLs',
        ),
      );
    }
    return errors;
  }
  if (apiGroups.length === 0) {
    errors.push(
      field.required(at.child('apiGroups'), 'resource rules must supply at least one api group'),
    );
  }
  if (resources.length === 0) {
    errors.push(
      field.required(at.child('resources'), 'resource rules must supply at least one resource'),
    );
  }
  return errors;
}

/**
 * Validates a binding. `namespaced`: a RoleBinding, otherwise a ClusterRoleBinding. `nameProblems`:
 * returns the problems of a path segment.
 */
export function validateBinding(
  { roleRef, subjects = [] }: Binding,
  namespaced: boolean,
  nameProblems: (name: string) => readonly string[],
): FieldErrorList {
  const at = field.path('roleRef');
  const errors: FieldErrorList = [];
  if (roleRef.apiGroup !== GROUP)
    errors.push(field.notSupported(at.child('apiGroup'), roleRef.apiGroup, [GROUP]));
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  if (!kinds.includes(roleRef.kind))
    errors.push(field.notSupported(at.child('kind'), roleRef.kind, kinds));
  if (roleRef.name === '') errors.push(field.required(at.child('name')));
  else errors.push(...invalidEach(at.child('name'), roleRef.name, nameProblems(roleRef.name)));
  subjects.forEach((each, index) =>
    errors.push(...subject(each, namespaced, field.path('subjects').index(index))),
  );
  return errors;
}

export function validateBindingUpdate({ roleRef }: Binding, old: Binding): FieldErrorList {
  return deepEqual(roleRef, old.roleRef)
    ? []
    : [field.invalid(field.path('roleRef'), roleRef, 'cannot change roleRef')];
}

function subject(
  { kind, apiGroup = '', name, namespace = '' }: Subject,
  namespaced: boolean,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (name === '') errors.push(field.required(at.child('name')));
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '')
        errors.push(...invalidEach(at.child('name'), name, validation.isDNS1123Subdomain(name)));
      if (apiGroup !== '') errors.push(field.notSupported(at.child('apiGroup'), apiGroup, ['']));
      if (!namespaced && namespace === '') errors.push(field.required(at.child('namespace')));
      break;
    case 'User':
    case 'Group':
      if (apiGroup !== GROUP)
        errors.push(field.notSupported(at.child('apiGroup'), apiGroup, [GROUP]));
      break;
    default:
      errors.push(field.notSupported(at.child('kind'), kind, ['ServiceAccount', 'User', 'Group']));
  }
  return errors;
}
