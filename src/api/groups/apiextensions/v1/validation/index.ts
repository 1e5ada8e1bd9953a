// Validation of CustomResourceDefinitions, in steps, since schemas may be large. Metadata is
// validated elsewhere, with the same rules for all kinds, except for the name (definitionName).

import { subdomainName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { Steps } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { isConditionTrue } from '../conditions.ts';
import { validateApproval } from './approval.ts';
import type { Definition } from './definition.ts';
import { ratchetsOf, STRICT, strictForUpdate } from './ratchets.ts';
import { validateSpec } from './spec.ts';
import { validateStatus, validateStoredVersions } from './status.ts';

export { validateStatus } from './status.ts';

const SPEC = field.path('spec');

/** Returns the problems of a definition's name, or of its generateName if `prefix` is true. */
export function definitionName(
  name: string,
  prefix: boolean,
  { spec }: Definition,
): readonly string[] {
  const problems = subdomainName(name, prefix);
  if (name === `${spec.names.plural}.${spec.group}`) return problems;
  return [...problems, 'must be spec.names.plural+"."+spec.group'];
}

/** Validates a new definition. */
export function* validateDefinition(definition: Definition): Steps<FieldErrorList> {
  return [
    ...(yield* validateSpec(definition.spec, STRICT)),
    ...validateRest(definition, undefined),
  ];
}

/**
 * Validates an update of a definition. Many violations of the old definition remain allowed (see
 * ratchets.ts).
 */
export function* validateDefinitionUpdate(
  definition: Definition,
  old: Definition,
): Steps<FieldErrorList> {
  let errors = yield* validateSpec(definition.spec, strictForUpdate(old));
  // Most updates are valid. The violations of the old definition matter only for invalid updates.
  if (errors.length > 0)
    errors = yield* validateSpec(definition.spec, yield* ratchetsOf(definition, old));
  return [...errors, ...validateImmutable(definition, old), ...validateRest(definition, old)];
}

function validateImmutable({ spec }: Definition, old: Definition): FieldErrorList {
  const before = old.spec;
  const errors: FieldErrorList = [];
  const names = SPEC.child('names');
  if (isConditionTrue(old.status, 'Established')) {
    errors.push(...immutable(spec.scope, before.scope, SPEC.child('scope')));
    errors.push(...immutable(spec.names.kind, before.names.kind, names.child('kind')));
  }
  errors.push(...immutable(spec.group, before.group, SPEC.child('group')));
  return [...errors, ...immutable(spec.names.plural, before.names.plural, names.child('plural'))];
}

function immutable(value: string, old: string, at: FieldPath): FieldErrorList {
  return value === old ? [] : [field.invalid(at, value, 'field is immutable')];
}

function validateRest(definition: Definition, old: Definition | undefined): FieldErrorList {
  return [
    ...validateStatus(definition.status),
    ...validateStoredVersions(definition),
    ...validateApproval(definition, old),
    ...validatePreserveUnknownFields(definition, old),
  ];
}

function validatePreserveUnknownFields(
  { spec }: Definition,
  old: Definition | undefined,
): FieldErrorList {
  if (spec.preserveUnknownFields !== true || old?.spec.preserveUnknownFields === true) return [];
  const detail =
    'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
  return [field.invalid(SPEC.child('preserveUnknownFields'), true, detail)];
}
