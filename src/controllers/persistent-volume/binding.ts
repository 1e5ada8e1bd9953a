// Builds volumes and claims as they should be when they are bound to each other, and after. Each
// function returns the object as it should be: the same object if nothing changes.

import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { tryParseQuantity } from '#machinery/text/quantity.ts';
import { refersTo } from './matching.ts';
import {
  BETA_STORAGE_PROVISIONER,
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  PRE_RESIZE_CAPACITY,
  STORAGE_PROVISIONER,
} from './names.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;
type ClaimPhase = NonNullable<PersistentVolumeClaim['status']['phase']>;
type VolumePhase = NonNullable<PersistentVolume['status']['phase']>;

export function boundVolume(volume: ReadVolume, claim: ReadClaim): ReadVolume {
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  const isReferred = refersTo(volume, claim);
  if (isReferred && volume.spec.claimRef?.uid === uid) return volume;
  const byController: Readonly<Record<string, string>> = isReferred
    ? {}
    : { [BOUND_BY_CONTROLLER]: 'yes' };
  const claimRef = {
    kind: 'PersistentVolumeClaim',
    namespace,
    name,
    uid,
    apiVersion: 'v1',
    resourceVersion,
  };
  return { ...annotated(volume, byController), spec: { ...volume.spec, claimRef } };
}

export function boundClaim(claim: ReadClaim, volume: ReadVolume): ReadClaim {
  const { name } = volume.metadata;
  const isChosen = claim.spec.volumeName === name;
  const wanted = { ...(!isChosen && { [BOUND_BY_CONTROLLER]: 'yes' }), [BIND_COMPLETED]: 'yes' };
  const missing = Object.entries(wanted).filter(([key]) => !isAnnotated(claim, key));
  if (isChosen && missing.length === 0) return claim;
  return {
    ...annotated(claim, Object.fromEntries(missing)),
    spec: { ...claim.spec, volumeName: name },
  };
}

/**
 * Returns the volume without a claim. A volume that a user had bound stays reserved for its claim.
 */
export function unboundVolume(volume: ReadVolume): ReadVolume {
  const { claimRef, ...spec } = volume.spec;
  if (claimRef === undefined) return volume;
  if (!isAnnotated(volume, BOUND_BY_CONTROLLER)) {
    const { uid: _, ...reference } = claimRef;
    return { ...volume, spec: { ...spec, claimRef: reference } };
  }
  const { annotations: { [BOUND_BY_CONTROLLER]: _, ...others } = {}, ...metadata } =
    volume.metadata;
  const annotations = Object.keys(others).length > 0 ? { annotations: others } : {};
  return { ...volume, metadata: { ...metadata, ...annotations }, spec };
}

export function volumeInPhase(volume: ReadVolume, phase: VolumePhase, message = ''): ReadVolume {
  if (volume.status.phase === phase) return volume;
  const { message: _, ...status } = volume.status;
  return { ...volume, status: { ...status, phase, ...(message !== '' && { message }) } };
}

/**
 * Returns the claim in this phase. `volume`: its volume; undefined for none. Throws if the volume
 * has no capacity.
 */
export function claimInPhase(
  claim: ReadClaim,
  phase: ClaimPhase,
  volume: ReadVolume | undefined,
): ReadClaim {
  const { status } = claim;
  if (volume === undefined) {
    const { accessModes, capacity, currentVolumeAttributesClassName, ...rest } = status;
    const isBare =
      accessModes === undefined &&
      capacity === undefined &&
      currentVolumeAttributesClassName === undefined;
    return isBare && status.phase === phase ? claim : { ...claim, status: { ...rest, phase } };
  }
  const { accessModes } = volume.spec;
  const sameModes = semanticEqual(status.accessModes ?? [], accessModes ?? []);
  // Once bound, the capacities may differ for good reasons, and the resizer maintains the class.
  if (status.phase === phase)
    return sameModes ? claim : { ...claim, status: { ...status, accessModes } };
  const becomesBound = status.phase === 'Pending' && phase === 'Bound';
  const attributes = volume.spec.volumeAttributesClassName;
  return {
    ...claim,
    status: {
      ...status,
      phase,
      accessModes,
      capacity: capacityOf(volume),
      ...(becomesBound &&
        attributes !== undefined && { currentVolumeAttributesClassName: attributes }),
    },
  };
}

export function withProvisioner(claim: ReadClaim, provisioner: string): ReadClaim {
  if (claim.metadata.annotations?.[STORAGE_PROVISIONER] === provisioner) return claim;
  return annotated(claim, {
    [BETA_STORAGE_PROVISIONER]: provisioner,
    [STORAGE_PROVISIONER]: provisioner,
  });
}

export function isAnnotated({ metadata }: ReadVolume | ReadClaim, annotation: string): boolean {
  return Object.hasOwn(metadata.annotations ?? {}, annotation);
}

function annotated<T extends ReadVolume | ReadClaim>(
  object: T,
  more: Readonly<Record<string, string>>,
): T {
  if (Object.keys(more).length === 0) return object;
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...more } },
  };
}

function capacityOf({ metadata, spec }: ReadVolume): Immutable<Record<string, string>> {
  if (spec.capacity?.['storage'] === undefined)
    throw new Error(`PersistentVolume "${metadata.name}" is without a storage capacity`);
  const before = metadata.annotations?.[PRE_RESIZE_CAPACITY];
  return before === undefined || tryParseQuantity(before) === undefined
    ? spec.capacity
    : { ...spec.capacity, storage: before };
}
