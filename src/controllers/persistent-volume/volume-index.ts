// An index of volumes that finds the best one for a claim without a scan: by access modes, by the
// properties that have to be equal, and by size.

import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as labels from '#machinery/selectors/labels.ts';
import type { Quantity } from '#machinery/text/quantity.ts';
import { attributesClass, refersTo, requestedSize, sizeOf, volumeMode } from './matching.ts';
import { classOfClaim, classOfVolume } from './storage-classes.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;

interface Entry {
  readonly volume: ReadVolume;
  readonly size: Quantity;
}

/** Volumes with the same access modes. */
interface Group {
  readonly modes: ReadonlySet<string>;
  /**
   * Free volumes by the properties that a claim must match, the smallest first. It has no empty
   * lists.
   */
  readonly free: Map<string, Entry[]>;
}

export class VolumeIndex {
  /** By access modes. */
  readonly #groups = new Map<string, Group>();
  /** By the key of the claim that the volumes refer to. It has no empty inner maps. */
  readonly #referring = new Map<string, Map<string, ReadVolume>>();
  /** The number of free volumes by storage class. */
  readonly #freeOfClass = new Map<string, number>();
  /** Names of volumes that are being bound to a claim. */
  readonly #reserved = new Set<string>();

  /**
   * Replaces a version of a volume. `before` is undefined for a new volume, `after` for a deleted
   * one.
   */
  replace(before: ReadVolume | undefined, after: ReadVolume | undefined): void {
    if (before !== undefined) this.#remove(before);
    if (after !== undefined) this.#add(after);
  }

  /** Returns the volumes whose reference names the claim ('namespace/name'), with any UID. */
  referringTo(claimKey: string): readonly ReadVolume[] {
    return [...(this.#referring.get(claimKey)?.values() ?? [])];
  }

  /** Returns the number of free volumes of the storage class. */
  free(storageClass: string): number {
    return this.#freeOfClass.get(storageClass) ?? 0;
  }

  /** Reserves the volume until the returned function is called. */
  reserve(name: string): () => void {
    this.#reserved.add(name);
    return () => void this.#reserved.delete(name);
  }

  /**
   * Returns the volume for a claim: of the volumes with the fewest additional access modes, the one
   * that refers to the claim, or else the smallest that is large enough. `onlyReferring`: only a
   * volume that refers to the claim.
   */
  find(claim: ReadClaim, onlyReferring: boolean): ReadVolume | undefined {
    const wanted = claim.spec.accessModes ?? [];
    const size = requestedSize(claim);
    const selector =
      claim.spec.selector === undefined
        ? undefined
        : labels.labelSelectorAsSelector(claim.spec.selector);
    const referring = this.referringTo(`${claim.metadata.namespace ?? ''}/${claim.metadata.name}`);
    const groups = [...this.#groups.entries()]
      .filter(([, { modes }]) => wanted.every((mode) => modes.has(mode)))
      .sort(([a, of], [b, to]) => of.modes.size - to.modes.size || (a < b ? -1 : 1));
    for (const [key, { free }] of groups) {
      const own = referring.find(
        (volume) => modesKey(volume) === key && isFor(volume, claim, size),
      );
      if (own !== undefined) return own;
      if (onlyReferring) continue;
      const list = free.get(agreement(claim, classOfClaim(claim))) ?? [];
      for (let i = firstOf(list, size, ''); i < list.length; i++) {
        const { volume } = list[i]!;
        if (this.#reserved.has(volume.metadata.name)) continue;
        if (selector === undefined || selector.matches(volume.metadata.labels ?? {})) return volume;
      }
    }
    return undefined;
  }

  #add(volume: ReadVolume): void {
    const key = modesKey(volume);
    const group = this.#groups.get(key) ?? {
      modes: new Set<string>(volume.spec.accessModes),
      free: new Map<string, Entry[]>(),
    };
    this.#groups.set(key, group);
    const reference = referenceKey(volume);
    if (reference !== undefined) {
      const referring = this.#referring.get(reference) ?? new Map<string, ReadVolume>();
      this.#referring.set(reference, referring.set(volume.metadata.name, volume));
    }
    if (!isFree(volume)) return;
    const storageClass = classOfVolume(volume);
    const agreed = agreement(volume, storageClass);
    const list = group.free.get(agreed) ?? [];
    const entry = { volume, size: sizeOf(volume) };
    list.splice(firstOf(list, entry.size, volume.metadata.name), 0, entry);
    group.free.set(agreed, list);
    this.#freeOfClass.set(storageClass, this.free(storageClass) + 1);
  }

  #remove(volume: ReadVolume): void {
    const { name } = volume.metadata;
    const reference = referenceKey(volume);
    if (reference !== undefined) {
      const referring = this.#referring.get(reference);
      referring?.delete(name);
      if (referring?.size === 0) this.#referring.delete(reference);
    }
    if (!isFree(volume)) return;
    const storageClass = classOfVolume(volume);
    const agreed = agreement(volume, storageClass);
    const free = this.#groups.get(modesKey(volume))?.free;
    const list = free?.get(agreed) ?? [];
    const at = firstOf(list, sizeOf(volume), name);
    if (list[at]?.volume.metadata.name !== name) return;
    list.splice(at, 1);
    if (list.length === 0) free?.delete(agreed);
    const left = this.free(storageClass) - 1;
    if (left === 0) this.#freeOfClass.delete(storageClass);
    else this.#freeOfClass.set(storageClass, left);
  }
}

/**
 * Reports whether the volume is free. The phase Pending means that the binder has not reconciled
 * the volume yet: it is available, too.
 */
export function isFree({ metadata, spec, status: { phase = 'Pending' } }: ReadVolume): boolean {
  return (
    spec.claimRef === undefined &&
    (phase === 'Available' || phase === 'Pending') &&
    metadata.deletionTimestamp === undefined
  );
}

/**
 * Reports whether the volume fits the claim. The class of a volume that refers to the claim is not
 * compared.
 */
function isFor(volume: ReadVolume, claim: ReadClaim, size: Quantity): boolean {
  return (
    refersTo(volume, claim) &&
    volume.metadata.deletionTimestamp === undefined &&
    sizeOf(volume).cmp(size) >= 0 &&
    volumeMode(volume) === volumeMode(claim) &&
    attributesClass(volume) === attributesClass(claim)
  );
}

function agreement(object: ReadVolume | ReadClaim, storageClass: string): string {
  return [storageClass, volumeMode(object), attributesClass(object)].join('/');
}

function modesKey({ spec }: ReadVolume): string {
  return [...new Set(spec.accessModes)].sort().join(',');
}

function referenceKey({ spec }: ReadVolume): string | undefined {
  const reference = spec.claimRef;
  return reference === undefined
    ? undefined
    : `${reference.namespace ?? ''}/${reference.name ?? ''}`;
}

/** Returns the position of the first volume that is not before one with this size and name. */
function firstOf(list: readonly Entry[], size: Quantity, name: string): number {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const { volume, size: other } = list[middle]!;
    const order = other.cmp(size);
    if (order < 0 || (order === 0 && volume.metadata.name < name)) from = middle + 1;
    else to = middle;
  }
  return from;
}
