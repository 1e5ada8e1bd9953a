// Validation of the status of a definition.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import type { Definition, Status } from './definition.ts';
import { validateNames } from './names.ts';

const STATUS = field.path('status');

/** Validates the fields that the status subresource may change. */
export function validateStatus(status: Status): FieldErrorList {
  return validateNames(status.acceptedNames, STATUS.child('acceptedNames'));
}

/** Validates that every version with stored objects exists. */
export function validateStoredVersions({ spec, status }: Definition): FieldErrorList {
  const at = STATUS.child('storedVersions');
  const { storedVersions } = status;
  if (storedVersions === null || storedVersions.length === 0) {
    return [field.invalid(at, storedVersions, 'must have at least one stored version')];
  }
  const errors: FieldErrorList = [];
  const left = new Set(storedVersions);
  for (const { name, storage } of spec.versions) {
    if (storage && !left.has(name))
      errors.push(field.invalid(at, storedVersions, `must have the storage version ${name}`));
    left.delete(name);
  }
  for (const name of left) {
    const detail =
      `missing from spec.versions; ${name} was previously a storage version, ` +
      'and must remain in spec.versions until a storage ' +
      `migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    errors.push(field.invalid(at.index(storedVersions.lastIndexOf(name)), name, detail));
  }
  return errors;
}
