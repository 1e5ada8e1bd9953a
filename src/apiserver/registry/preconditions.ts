// Preconditions of a write: the object must have the given identity and state.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { GroupKind, GroupResource } from '#machinery/apierrors.ts';
import { IntegerError, parseUint64 } from '#machinery/text/go-numbers.ts';
import { FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import type { Preconditions } from './rest.ts';

/**
 * Checks the preconditions. Throws StatusError (409). `current` is undefined if there is no object.
 */
export function checkPreconditions(
  resource: GroupResource,
  name: string,
  preconditions: Preconditions | undefined,
  current: KubeObject | undefined,
): void {
  const broken = brokenPrecondition(preconditions, current);
  if (broken === undefined) return;
  const { what, wanted, actual } = broken;
  const why = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`;
  throw apierrors.conflict(resource, name, why);
}

/** Checks the preconditions of a deletion, which has other messages. Throws StatusError (409). */
export function checkDeletePreconditions(
  { group, kind }: GroupKind,
  name: string,
  preconditions: Preconditions | undefined,
  current: KubeObject,
): void {
  const broken = brokenPrecondition(preconditions, current);
  if (broken === undefined) return;
  const { what, wanted, actual } = broken;
  const perhaps = what === 'UID' ? 'deleted and then recreated' : 'modified';
  throw apierrors.conflict(
    { group, resource: kind },
    name,
    `the ${what} in the precondition (${wanted}) does not match the ${what} in record ` +
      `(${actual}). The object might have been ${perhaps}`,
  );
}

interface BrokenPrecondition {
  readonly what: 'UID' | 'ResourceVersion';
  readonly wanted: string;
  readonly actual: string;
}

function brokenPrecondition(
  preconditions: Preconditions | undefined,
  current: KubeObject | undefined,
): BrokenPrecondition | undefined {
  const { uid = '', resourceVersion = '' } = preconditions ?? {};
  const actual = {
    uid: current?.metadata.uid ?? '',
    resourceVersion: current?.metadata.resourceVersion ?? '',
  };
  if (uid !== '' && uid !== actual.uid) return { what: 'UID', wanted: uid, actual: actual.uid };
  if (resourceVersion === '' || resourceVersion === actual.resourceVersion) return undefined;
  return { what: 'ResourceVersion', wanted: resourceVersion, actual: actual.resourceVersion };
}

/**
 * Checks the resourceVersion of an update. An update with a resourceVersion must match the current
 * state; one without overwrites any state, if the kind allows it. Throws StatusError (400, 409,
 * 422).
 */
export function checkVersion(
  type: GroupResource & GroupKind,
  object: KubeObject,
  old: KubeObject,
  allowUnconditional: boolean,
): void {
  const { name } = old.metadata;
  const revision = revisionOf(object.metadata.resourceVersion ?? '');
  if (revision === 0) {
    if (allowUnconditional) return;
    const at = new FieldPath('metadata', 'resourceVersion');
    // Only this message has the resource in the place of the kind.
    const named = { group: type.group, resource: type.resource, kind: type.resource };
    throw apierrors.invalid(named, name, [field.invalid(at, 0, 'must be specified for an update')]);
  }
  if (String(revision) !== old.metadata.resourceVersion)
    throw apierrors.conflict(type, name, apierrors.OPTIMISTIC_LOCK_MESSAGE);
}

/** Returns the revision; 0 for ''. Throws BadRequest. */
function revisionOf(resourceVersion: string): number {
  if (resourceVersion === '') return 0;
  try {
    return parseUint64(resourceVersion);
  } catch (error) {
    if (error instanceof IntegerError) throw apierrors.badRequest(error.message);
    throw error;
  }
}
