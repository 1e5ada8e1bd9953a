// The persistent volume claims that a pod refers to.

import type { Pod, Volume } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type ReadPod = Immutable<Pod>;

/** An index of pods by the keys of the claims that they refer to. */
export const BY_CLAIM = 'claim';

/**
 * Returns the name of the volume's claim, which is derived for an ephemeral volume; undefined for
 * volumes of other kinds.
 */
export function claimNameOf(pod: ReadPod, volume: Immutable<Volume>): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`;
}

export function claimNamesOf(pod: ReadPod): readonly string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => claimNameOf(pod, volume) ?? []);
}

/** Returns the values of BY_CLAIM. */
export function byClaim(pod: ReadPod): readonly string[] {
  return claimNamesOf(pod).map((name) => `${pod.metadata.namespace ?? ''}/${name}`);
}
