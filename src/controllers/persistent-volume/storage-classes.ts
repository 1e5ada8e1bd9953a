// The storage class of claims and volumes, and properties of classes.

import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { StorageClass } from '#api/groups/storage/v1/index.ts';
import { BETA_STORAGE_CLASS } from './names.ts';

type ReadClass = Immutable<StorageClass>;

const DEFAULT_MARKS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

/** Returns '' for a volume without a class. */
export function classOfVolume({ metadata, spec }: Immutable<PersistentVolume>): string {
  return metadata.annotations?.[BETA_STORAGE_CLASS] ?? spec.storageClassName ?? '';
}

/** Returns '' for a claim with an empty class or without one (see `hasUnsetClass`). */
export function classOfClaim({ metadata, spec }: Immutable<PersistentVolumeClaim>): string {
  return metadata.annotations?.[BETA_STORAGE_CLASS] ?? spec.storageClassName ?? '';
}

/**
 * Reports whether the claim names no class. It may be assigned the default class, even long after
 * its creation.
 */
export function hasUnsetClass({ metadata, spec }: Immutable<PersistentVolumeClaim>): boolean {
  return (
    metadata.annotations?.[BETA_STORAGE_CLASS] === undefined && spec.storageClassName === undefined
  );
}

export function isDefaultClass({ metadata }: ReadClass): boolean {
  return DEFAULT_MARKS.some((mark) => metadata.annotations?.[mark] === 'true');
}

/** Returns the newest default class; of the same age, the first by name. */
export function defaultClass(classes: readonly ReadClass[]): ReadClass | undefined {
  const [first] = classes.filter(isDefaultClass).sort((a, b) => {
    const [of, to] = [a.metadata, b.metadata];
    if (of.creationTimestamp !== to.creationTimestamp)
      return of.creationTimestamp > to.creationTimestamp ? -1 : 1;
    return of.name < to.name ? -1 : 1;
  });
  return first;
}

/**
 * Reports whether the scheduler chooses the volume, or the node for which a volume is provisioned.
 */
export function waitsForConsumer(storageClass: ReadClass | undefined): boolean {
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}
