// Decides whether a volume fits a claim.

import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import { classOfClaim, classOfVolume } from './storage-classes.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;

export function requestedSize({ spec }: ReadClaim): Quantity {
  return parseQuantity(spec.resources.requests?.['storage'] ?? '0');
}

export function sizeOf({ spec }: ReadVolume): Quantity {
  return parseQuantity(spec.capacity?.['storage'] ?? '0');
}

export function volumeMode({ spec }: ReadVolume | ReadClaim): string {
  return spec.volumeMode ?? 'Filesystem';
}

export function attributesClass({ spec }: ReadVolume | ReadClaim): string {
  return spec.volumeAttributesClassName ?? '';
}

function offersAccessModes(volume: ReadVolume, claim: ReadClaim): boolean {
  const offered = new Set(volume.spec.accessModes);
  return (claim.spec.accessModes ?? []).every((mode) => offered.has(mode));
}

/**
 * Reports whether the volume refers to the claim. A reference by a user may lack the claim's UID.
 */
export function refersTo({ spec }: ReadVolume, { metadata }: ReadClaim): boolean {
  const reference = spec.claimRef;
  if (
    reference === undefined ||
    reference.name !== metadata.name ||
    reference.namespace !== metadata.namespace
  )
    return false;
  return (reference.uid ?? '') === '' || reference.uid === metadata.uid;
}

/**
 * Returns why a claim cannot have the volume that it names, in upstream's words for events;
 * undefined if it can.
 */
export function mismatch(volume: ReadVolume, claim: ReadClaim): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined)
    return `the volume is marked for deletion "${volume.metadata.name}"`;
  if (sizeOf(volume).cmp(requestedSize(claim)) < 0) return 'requested PV is too small';
  if (classOfVolume(volume) !== classOfClaim(claim)) return 'storageClassName does not match';
  if (attributesClass(volume) !== attributesClass(claim))
    return 'volumeAttributesClassName does not match';
  if (volumeMode(volume) !== volumeMode(claim)) return 'incompatible volumeMode';
  return offersAccessModes(volume, claim) ? undefined : 'incompatible accessMode';
}
