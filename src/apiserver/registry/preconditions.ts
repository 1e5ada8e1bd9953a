// What a writer may insist on: that the object is the one, and in the state, that it takes it to be.

import type { KubeObject } from '../../client/client.ts';
import * as apierrors from '../../machinery/apierrors.ts';
import type { GroupKind, GroupResource } from '../../machinery/apierrors.ts';
import { FieldPath } from '../../machinery/field.ts';
import * as field from '../../machinery/field.ts';
import type { Preconditions } from './rest.ts';

/** Throws StatusError (409). `current` is undefined if there is no object. */
export function checkPreconditions(
  resource: GroupResource,
  name: string,
  preconditions: Preconditions | undefined,
  current: KubeObject | undefined,
): void {
  if (preconditions === undefined) return;
  const { uid = '', resourceVersion = '' } = preconditions;
  const actual = { uid: current?.metadata.uid ?? '', resourceVersion: current?.metadata.resourceVersion ?? '' };
  if (uid !== '' && uid !== actual.uid) {
    throw apierrors.conflict(
      resource,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${actual.uid}`,
    );
  }
  if (resourceVersion !== '' && resourceVersion !== actual.resourceVersion) {
    const why =
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ` +
      `ResourceVersion in object meta: ${actual.resourceVersion}`;
    throw apierrors.conflict(resource, name, why);
  }
}

/**
 * Whoever names a resourceVersion means that state and no other; whoever names none overwrites whatever is there, where the
 * kind allows it. Throws StatusError (409, 422).
 */
export function checkVersion(
  type: GroupResource & GroupKind,
  object: KubeObject,
  old: KubeObject,
  allowUnconditional: boolean,
): void {
  const { name } = old.metadata;
  const given = object.metadata.resourceVersion ?? '';
  if (given === '' || given === '0') {
    if (allowUnconditional) return;
    const at = new FieldPath('metadata', 'resourceVersion');
    // The one message that calls a resource a kind.
    const named = { group: type.group, resource: type.resource, kind: type.resource };
    throw apierrors.invalid(named, name, [field.invalid(at, 0, 'must be specified for an update')]);
  }
  if (given !== old.metadata.resourceVersion) throw apierrors.conflict(type, name, apierrors.OPTIMISTIC_LOCK_MESSAGE);
}
