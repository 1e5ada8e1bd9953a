// Which claims a pod mounts, and whether its volumes say anything about where it can run.

import { pluginOfSource } from '#api/groups/core/v1/csi-migration/index.ts';
import type { Volume } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Pod } from './objects.ts';

/** A persistent volume claim, of the pod's namespace, that a pod mounts. */
export interface ClaimUse {
  readonly name: string;
  /** It is made for the pod, from its spec, and has to be the pod's own. */
  readonly ephemeral: boolean;
}

const NONE: readonly ClaimUse[] = [];

/** In the order of the pod's volumes. */
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

/** Disks of clouds that are named in the pod itself, which their CSI drivers attach. */
export function disksOf({ spec: { volumes } }: Pod): readonly Immutable<Volume>[] {
  const disks = volumes?.filter((volume) => pluginOfSource(volume) !== undefined) ?? NO_DISKS;
  return disks.length === 0 ? NO_DISKS : disks;
}

/**
 * A disk that is named in the pod itself and can only be attached in one place, or only by readers.
 */
export function isExclusiveDisk(volume: Immutable<Volume>): boolean {
  return (
    volume.gcePersistentDisk !== undefined ||
    volume.awsElasticBlockStore !== undefined ||
    volume.rbd !== undefined ||
    volume.iscsi !== undefined
  );
}
