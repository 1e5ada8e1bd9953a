// Validation of storage version migrations. Messages and paths are upstream's
// (pkg/apis/storagemigration/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { deepEqual } from '#machinery/deep.ts';
import * as validation from '#machinery/validation/validation.ts';
import { validateConditions } from '#api/machinery/meta/v1/conditions.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as storagemigration from './types.ts';

type StorageVersionMigration = Immutable<storagemigration.StorageVersionMigration>;

const RESOURCE = field.path('spec', 'resource');
const STATUS = field.path('status');
const CONDITIONS = STATUS.child('conditions');
const VERSION = STATUS.child('resourceVersion');
const WELL_FORMED = /^[1-9][0-9]*$/;

export function validateStorageVersionMigration({ spec }: StorageVersionMigration): FieldErrorList {
  const { group, resource } = spec.resource;
  const errors: FieldErrorList = [];
  if (resource === '')
    errors.push(field.required(RESOURCE.child('resource'), 'resource is required to be set'));
  else
    errors.push(
      ...problem(RESOURCE.child('resource'), resource, validation.isDNS1035Label(resource)),
    );
  if (group !== '')
    errors.push(...problem(RESOURCE.child('group'), group, validation.isDNS1123Subdomain(group)));
  return errors;
}

/** Returns one error with all messages. */
function problem(path: FieldPath, value: string, messages: readonly string[]): FieldErrorList {
  return messages.length === 0 ? [] : [field.invalid(path, value, messages.join(','))];
}

export function validateStorageVersionMigrationUpdate(
  migration: StorageVersionMigration,
  old: StorageVersionMigration,
): FieldErrorList {
  const changed = !deepEqual(migration.spec, old.spec);
  return [
    ...validateStorageVersionMigration(migration),
    ...(changed ? [field.invalid(field.path('spec'), migration.spec, 'field is immutable')] : []),
  ];
}

export function validateStorageVersionMigrationStatusUpdate(
  { status }: StorageVersionMigration,
  { status: old }: StorageVersionMigration,
): FieldErrorList {
  const { resourceVersion = '', conditions = [] } = status;
  const errors: FieldErrorList = [];
  if (resourceVersion !== '' && !WELL_FORMED.test(resourceVersion)) {
    errors.push(
      field.invalid(
        VERSION,
        resourceVersion,
        `resource version is not well formed: ${resourceVersion}`,
      ),
    );
  }
  errors.push(...validateConditions(conditions, CONDITIONS));
  if ((old.resourceVersion ?? '') !== '' && old.resourceVersion !== resourceVersion) {
    errors.push(field.invalid(VERSION, resourceVersion, 'field is immutable'));
  }
  const report = (message: string): void =>
    void errors.push(field.invalid(CONDITIONS, conditions, message));
  if (isTrue(status, 'Succeeded') && isTrue(status, 'Failed')) {
    report('Both success and failed conditions cannot be true at the same time');
  }
  if (isTrue(old, 'Succeeded') && !isTrue(status, 'Succeeded')) {
    report('Success condition cannot be set to false once it is true');
  }
  if (isTrue(old, 'Failed') && !isTrue(status, 'Failed'))
    report('Failed condition cannot be set to false once it is true');
  return errors;
}

/** Reports whether the condition is true. The migrator uses it, too. */
export function isTrue(
  { conditions = [] }: StorageVersionMigration['status'],
  type: storagemigration.MigrationConditionType,
): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}
