// Sets the owners of a pod's claims, so that the garbage collector deletes claims by the retention
// policy. A claim's owner is the set if it is deleted with the set, the pod if it is deleted at a
// scale-down, and no object otherwise.

import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable, OwnerReference } from '#api/machinery/meta/v1/index.ts';
import { newControllerRef, type TypeName } from '../controller-ref.ts';
import {
  isOrdinalWanted,
  ordinalOf,
  type ReadPod,
  type ReadStatefulSet,
  STATEFUL_SET,
} from './identity.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type Reference = Immutable<OwnerReference>;

const POD = { apiVersion: 'v1', kind: 'Pod' } as const;

function policyOf({ spec }: ReadStatefulSet): {
  readonly whenDeleted: boolean;
  readonly whenScaled: boolean;
} {
  const { whenDeleted, whenScaled } = spec.persistentVolumeClaimRetentionPolicy ?? {};
  return { whenDeleted: whenDeleted === 'Delete', whenScaled: whenScaled === 'Delete' };
}

export interface Ownership {
  /** The claim with its new owners; undefined if its owners are right. */
  readonly changed: ReadClaim | undefined;
  /** Another object controls the claim, so the set must not delete it. */
  readonly isForeign: boolean;
}

export function ownershipOf(set: ReadStatefulSet, pod: ReadPod, claim: ReadClaim): Ownership {
  const { whenDeleted, whenScaled } = policyOf(set);
  const present = claim.metadata.ownerReferences ?? [];
  const ofSet = (reference: Reference): boolean => refersTo(reference, set.metadata, STATEFUL_SET);
  const ofPod = (reference: Reference): boolean => refersTo(reference, pod.metadata, POD);
  const formers = present.filter(
    (reference) =>
      (ofSet(reference) && reference.uid !== set.metadata.uid) ||
      (ofPod(reference) && reference.uid !== pod.metadata.uid),
  );
  const others = present.filter((reference) => !ofSet(reference) && !ofPod(reference));
  // A set that retains its claims does not depend on their owners.
  const isForeign =
    (whenDeleted || whenScaled) &&
    (formers.length > 0 || others.some(({ controller }) => controller === true));
  // Claims of a former set or pod with the same name are deleted with that owner.
  if (formers.length > 0) return { changed: undefined, isForeign };
  const isWanted = isOrdinalWanted(set, ordinalOf(set, pod) ?? -1);
  const wanted: OwnerReference[] = [];
  if (!isForeign && whenScaled && !isWanted) wanted.push(newControllerRef(pod.metadata, POD));
  else if (!isForeign && whenDeleted) wanted.push(newControllerRef(set.metadata, STATEFUL_SET));
  const own = present.filter((reference) => ofSet(reference) || ofPod(reference));
  const isSame =
    own.length === wanted.length &&
    own.every(({ uid, controller }) => uid === wanted[0]?.uid && controller === true);
  if (isSame) return { changed: undefined, isForeign };
  const { ownerReferences: _, ...metadata } = claim.metadata;
  const references = [...others, ...wanted];
  const changed = {
    ...claim,
    metadata: { ...metadata, ...(references.length > 0 && { ownerReferences: references }) },
  };
  return { changed, isForeign };
}

/** Reports whether the reference has this type and name. The caller compares the UID. */
function refersTo(reference: Reference, { name }: ReadPod['metadata'], type: TypeName): boolean {
  return (
    reference.apiVersion === type.apiVersion &&
    reference.kind === type.kind &&
    reference.name === name
  );
}

/**
 * Reports whether the claim is about to be deleted with an earlier pod of that name: a new pod must
 * wait until the claim is gone or released.
 */
export function isStale(set: ReadStatefulSet, name: string, claim: ReadClaim): boolean {
  if (!policyOf(set).whenScaled) return false;
  return (claim.metadata.ownerReferences ?? []).some(
    (owner) => owner.kind === POD.kind && owner.name === name,
  );
}
