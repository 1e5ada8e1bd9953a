// The claims that a pod mounts, and disks in its spec that restrict where it can run.

import { pluginOfSource } from '#api/groups/core/v1/csi-migration/index.ts';
import type { Volume } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Pod } from './objects.ts';

/** A persistent volume claim, of the pod's namespace, that a pod mounts. */
export interface ClaimUse {
  readonly name: string;
  /** The claim is created from the pod's spec, and must be owned by the pod. */
  readonly ephemeral: boolean;
}

const NONE: readonly ClaimUse[] = [];

/** Returns the claims in the order of the pod's volumes. */
export function claimsOf(pod: Pod): readonly ClaimUse[] {
  let claims: ClaimUse[] | undefined;
  for (const volume of pod.spec.volumes ?? []) {
    const use = claimOf(pod, volume);
    if (use === undefined) continue;
    claims ??= [];
    claims.push(use);
  }
  return claims ?? NONE;
}

function claimOf({ metadata }: Pod, volume: Immutable<Volume>): ClaimUse | undefined {
  if (volume.persistentVolumeClaim !== undefined)
    return { name: volume.persistentVolumeClaim.claimName, ephemeral: false };
  if (volume.ephemeral !== undefined)
    return { name: `${metadata.name}-${volume.name}`, ephemeral: true };
  return undefined;
}

const NO_DISKS: readonly Immutable<Volume>[] = [];

/** Returns the cloud disks in the pod's spec that CSI drivers attach. */
export function disksOf({ spec: { volumes } }: Pod): readonly Immutable<Volume>[] {
  const disks = volumes?.filter((volume) => pluginOfSource(volume) !== undefined) ?? NO_DISKS;
  return disks.length === 0 ? NO_DISKS : disks;
}

/**
 * Reports whether the disk, which the pod's spec names, can only be attached once, or only by
 * readers.
 */
export function isExclusiveDisk(volume: Immutable<Volume>): boolean {
  return (
    volume.gcePersistentDisk !== undefined ||
    volume.awsElasticBlockStore !== undefined ||
    volume.rbd !== undefined ||
    volume.iscsi !== undefined
  );
}
