// Validation of access reviews. Messages and paths are upstream's
// (pkg/apis/authorization/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as authorization from './types.ts';

type SubjectAccessReview = Immutable<authorization.SubjectAccessReview>;
type LocalSubjectAccessReview = Immutable<authorization.LocalSubjectAccessReview>;
type SelfSubjectAccessReview = Immutable<authorization.SelfSubjectAccessReview>;
type ResourceAttributes = Immutable<authorization.ResourceAttributes>;
/** A selector of fields or of labels. */
type SelectorAttributes = Immutable<
  authorization.LabelSelectorAttributes | authorization.FieldSelectorAttributes
>;
type Requirement = NonNullable<SelectorAttributes['requirements']>[number];

const SPEC = field.path('spec');

export function validateSubjectAccessReview({
  metadata,
  spec,
}: SubjectAccessReview): FieldErrorList {
  return [...aboutSomebody(spec), ...emptyMetadata(metadata, [], 'must be empty')];
}

export function validateSelfSubjectAccessReview({
  metadata,
  spec,
}: SelfSubjectAccessReview): FieldErrorList {
  return [
    ...attributes(spec),
    ...selectors(spec.resourceAttributes),
    ...emptyMetadata(metadata, [], 'must be empty'),
  ];
}

export function validateLocalSubjectAccessReview({
  metadata,
  spec,
}: LocalSubjectAccessReview): FieldErrorList {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  const errors = [
    ...aboutSomebody(spec),
    ...emptyMetadata(metadata, ['namespace'], 'must be empty except for namespace'),
  ];
  const { namespace = '' } = resource ?? {};
  if (resource !== undefined && namespace !== (metadata.namespace ?? '')) {
    errors.push(
      field.invalid(
        SPEC.child('resourceAttributes', 'namespace'),
        namespace,
        'must match metadata.namespace',
      ),
    );
  }
  if (path !== undefined) {
    errors.push(
      field.invalid(
        SPEC.child('nonResourceAttributes'),
        path,
        'disallowed on this kind of request',
      ),
    );
  }
  return errors;
}

function aboutSomebody(spec: SubjectAccessReview['spec']): FieldErrorList {
  const errors = attributes(spec);
  const { user = '', groups = [] } = spec;
  if (user === '' && groups.length === 0) {
    errors.push(
      field.invalid(SPEC.child('user'), user, 'at least one of user or group must be specified'),
    );
  }
  return [...errors, ...selectors(spec.resourceAttributes)];
}

function attributes({
  resourceAttributes,
  nonResourceAttributes,
}: SelfSubjectAccessReview['spec']): FieldErrorList {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const message = 'cannot be specified in combination with resourceAttributes';
    return [field.invalid(SPEC.child('nonResourceAttributes'), nonResourceAttributes, message)];
  }
  if (resourceAttributes !== undefined || nonResourceAttributes !== undefined) return [];
  const message = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [field.invalid(SPEC.child('resourceAttributes'), null, message)];
}

function emptyMetadata(
  metadata: SubjectAccessReview['metadata'],
  allowed: readonly string[],
  message: string,
): FieldErrorList {
  const isEmpty = Object.entries(metadata).every(
    ([name, value]) =>
      name === 'managedFields' ||
      allowed.includes(name) ||
      value === undefined ||
      value === null ||
      value === '',
  );
  return isEmpty ? [] : [field.invalid(field.path('metadata'), metadata, message)];
}

function selectors(resource: ResourceAttributes | undefined): FieldErrorList {
  const at = SPEC.child('resourceAttributes');
  const fields = resource?.fieldSelector;
  const labels = resource?.labelSelector;
  return [
    ...(fields === undefined ? [] : selector(fields, fieldKey, at.child('fieldSelector'))),
    ...(labels === undefined ? [] : selector(labels, labelRules, at.child('labelSelector'))),
  ];
}

function selector(
  { rawSelector = '', requirements = [] }: SelectorAttributes,
  rules: (requirement: Requirement, at: FieldPath) => FieldErrorList,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const path = at.child('requirements');
  if (rawSelector !== '' && requirements.length > 0) {
    errors.push(
      field.invalid(
        at.child('rawSelector'),
        rawSelector,
        'may not specified at the same time as requirements',
      ),
    );
  }
  if (rawSelector === '' && requirements.length === 0) {
    errors.push(
      field.required(
        path,
        `when ${String(at)} is specified, requirements or rawSelector is required`,
      ),
    );
  }
  return [
    ...errors,
    ...requirements.flatMap((requirement, index) => rules(requirement, path.index(index))),
  ];
}

function fieldKey(requirement: Requirement, at: FieldPath): FieldErrorList {
  const errors =
    requirement.key === '' ? [field.required(at.child('key'), 'must be specified')] : [];
  return [...errors, ...values(requirement, at)];
}

function labelRules(requirement: Requirement, at: FieldPath): FieldErrorList {
  return [
    ...values(requirement, at),
    ...validation.validateLabelName(requirement.key, at.child('key')),
    ...(requirement.values ?? []).flatMap((value, index) =>
      validation
        .isValidLabelValue(value)
        .map((problem) => field.invalid(at.child('values').index(index), value, problem)),
    ),
  ];
}

/** Unknown operators are accepted: newer servers may support them. */
function values({ operator, values: list = [] }: Requirement, at: FieldPath): FieldErrorList {
  const path = at.child('values');
  if ((operator === 'In' || operator === 'NotIn') && list.length === 0) {
    return [field.required(path, "must be specified when `operator` is 'In' or 'NotIn'")];
  }
  if ((operator === 'Exists' || operator === 'DoesNotExist') && list.length > 0) {
    return [
      field.forbidden(path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
    ];
  }
  return [];
}
