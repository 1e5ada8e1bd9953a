// Corrects metadata from clients and from admission: duplicate owners are dropped, and invalid
// managed fields are restored. Clients get a warning for both.

import { ManagedFieldsError, validateManagedFields } from '#api/machinery/managed-fields/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { deepEqual } from '#machinery/deep.ts';

type OwnerReferences = Immutable<KubeObject>['metadata']['ownerReferences'];

/**
 * Returns the object without duplicate owner references. `afterAdmission`: the message says that
 * admission has added them.
 */
export function withoutDuplicateOwners(
  object: KubeObject,
  warnings: string[],
  afterAdmission: boolean,
): KubeObject {
  const owners = object.metadata?.ownerReferences;
  if (owners === undefined || owners.length < 2) return object;
  const [unique, duplicates] = separated(owners);
  if (duplicates.length === 0) return object;
  const when = afterAdmission ? ' after mutating admission happens' : '';
  warnings.push(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner ` +
      'references in 1.20+, and may reject such ' +
      `requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${duplicates.join(', ')}`,
  );
  return { ...object, metadata: { ...object.metadata, ownerReferences: unique } };
}

function separated(
  owners: NonNullable<OwnerReferences>,
): [unique: NonNullable<OwnerReferences>[number][], duplicates: string[]] {
  const byUid = new Map<string, NonNullable<OwnerReferences>[number][]>();
  const unique: NonNullable<OwnerReferences>[number][] = [];
  const duplicates: string[] = [];
  for (const owner of owners) {
    const same = byUid.get(owner.uid) ?? [];
    if (same.some((earlier) => deepEqual(earlier, owner))) {
      duplicates.push(owner.uid);
      continue;
    }
    byUid.set(owner.uid, [...same, owner]);
    unique.push(owner);
  }
  return [unique, duplicates];
}

/**
 * Returns the object after admission, with corrected metadata. `before`: the object before
 * admission.
 */
export function checkedMetadata(
  before: KubeObject,
  admitted: KubeObject,
  warnings: string[],
): KubeObject {
  const valid = admitted === before ? admitted : withValidManagedFields(before, admitted, warnings);
  // A patch may have added duplicates, too.
  return withoutDuplicateOwners(valid, warnings, true);
}

function withValidManagedFields(
  before: KubeObject,
  admitted: KubeObject,
  warnings: string[],
): KubeObject {
  const { managedFields } = admitted.metadata ?? {};
  if (managedFields === before.metadata?.managedFields || managedFields === undefined)
    return admitted;
  try {
    validateManagedFields(managedFields);
    return admitted;
  } catch (error) {
    if (!(error instanceof ManagedFieldsError)) throw error;
    warnings.push(
      '.metadata.managedFields was in an invalid state after admission; this could be caused ' +
        'by an outdated mutating admission ' +
        `controller; please fix your requests: ${error.message}`,
    );
    return {
      ...admitted,
      metadata: { ...admitted.metadata, managedFields: before.metadata.managedFields },
    };
  }
}
