// Whose a pod's claims are, so that the garbage collector deletes them when the retention policy says so: the set's if they go with
// it, the pod's if they go with a pod that is not wanted any more, nobody's otherwise.

import type { PersistentVolumeClaim } from '../../api/core/v1/index.ts';
import type { Immutable, OwnerReference } from '../../api/meta/v1/index.ts';
import { controllerOf, newControllerRef } from '../controller-ref.ts';
import { isOrdinalWanted, ordinalOf, STATEFUL_SET } from './identity.ts';
import type { ReadPod, ReadStatefulSet } from './identity.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type Reference = Immutable<OwnerReference>;

const POD = { apiVersion: 'v1', kind: 'Pod' } as const;

function policyOf({ spec }: ReadStatefulSet): { readonly whenDeleted: boolean; readonly whenScaled: boolean } {
  const { whenDeleted, whenScaled } = spec.persistentVolumeClaimRetentionPolicy ?? {};
  return { whenDeleted: whenDeleted === 'Delete', whenScaled: whenScaled === 'Delete' };
}

/** The claim with the owners that it should have; undefined if it has them, or belongs to somebody else. */
export function withOwners(set: ReadStatefulSet, pod: ReadPod, claim: ReadClaim): ReadClaim | undefined {
  const controller = controllerOf(claim);
  if (controller !== undefined && controller.uid !== set.metadata.uid && controller.uid !== pod.metadata.uid) return undefined;
  const { whenDeleted, whenScaled } = policyOf(set);
  const isWanted = isOrdinalWanted(set, ordinalOf(set, pod) ?? -1);
  const ofPod = whenScaled && !isWanted;
  const ofSet = whenDeleted && !ofPod;
  const present = claim.metadata.ownerReferences ?? [];
  const references = owned(owned(present, set.metadata, STATEFUL_SET, ofSet), pod.metadata, POD, ofPod);
  if (references === present) return undefined;
  const { ownerReferences: _, ...metadata } = claim.metadata;
  return { ...claim, metadata: { ...metadata, ...(references.length > 0 && { ownerReferences: references }) } };
}

/** The references with or without the owner; the very same if nothing changes. */
function owned(
  references: readonly Reference[],
  owner: ReadPod['metadata'],
  type: { readonly apiVersion: string; readonly kind: string },
  wanted: boolean,
): readonly Reference[] {
  const present = references.some(({ uid }) => uid === owner.uid);
  if (present === wanted) return references;
  return wanted ? [...references, newControllerRef(owner, type)] : references.filter(({ uid }) => uid !== owner.uid);
}

/** The claim is about to go with an earlier pod of that name: who needs it has to wait until it is gone, or free. */
export function isStale(set: ReadStatefulSet, name: string, claim: ReadClaim): boolean {
  if (!policyOf(set).whenScaled) return false;
  return (claim.metadata.ownerReferences ?? []).some((owner) => owner.kind === POD.kind && owner.name === name);
}
