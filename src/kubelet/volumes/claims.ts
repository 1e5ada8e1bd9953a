// Volumes that a pod has through a persistent volume claim: which persistent volume it is, and
// whether the pod may have it.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Pod, Volume } from '../types.ts';

export type PersistentVolume = Immutable<v1.PersistentVolume>;
export type PersistentVolumeClaim = Immutable<v1.PersistentVolumeClaim>;

/** Reads from the API; rejects with NotFound if the object is not there. */
export interface ClaimSource {
  claim(namespace: string, name: string): Promise<PersistentVolumeClaim>;
  volume(name: string): Promise<PersistentVolume>;
}

export interface ClaimedVolume {
  readonly volume: PersistentVolume;
  readonly readOnly: boolean;
}

/** The claim does not give the pod a volume, or not yet. */
export class ClaimError extends Error {
  constructor(namespace: string, claim: string, reason: string) {
    super(`error processing PVC ${namespace}/${claim}: ${reason}`);
    this.name = 'ClaimError';
  }
}

/** The name of the claim that a volume stands for; undefined if it is of another kind. */
export function claimNameOf(pod: Pod, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`;
}

/** Rejects with ClaimError. `claimName`: that of `claimNameOf`. */
export async function claimedVolume(
  pod: Pod,
  volume: Volume,
  claimName: string,
  source: ClaimSource,
): Promise<ClaimedVolume> {
  const namespace = pod.metadata.namespace ?? '';
  const refuse = (reason: string): ClaimError => new ClaimError(namespace, claimName, reason);
  const claim = await read(source.claim(namespace, claimName), (why) =>
    refuse(`failed to fetch PVC from API server: ${why}`),
  );
  const owner = claim.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (volume.ephemeral !== undefined && owner?.uid !== pod.metadata.uid) {
    throw refuse(
      `PVC ${namespace}/${claimName} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
    );
  }
  // One that runs already, and whose kubelet was started anew, goes on.
  if (claim.metadata.deletionTimestamp !== undefined && pod.status.phase !== 'Running')
    throw refuse('PVC is being deleted');
  if (claim.status.phase !== 'Bound') throw refuse('PVC is not bound');
  const { volumeName } = claim.spec;
  if (volumeName === undefined) throw refuse('PVC has empty pvc.Spec.VolumeName');
  const found = await read(source.volume(volumeName), (why) =>
    refuse(`failed to fetch PV ${volumeName} from API server: ${why}`),
  );
  const { claimRef } = found.spec;
  if (claimRef === undefined) {
    throw refuse(
      `found PV object ${volumeName} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
  }
  if (claimRef.uid !== claim.metadata.uid) {
    const uids = `its pv.Spec.ClaimRef.UID ${claimRef.uid ?? ''} does not point to claim.UID ${claim.metadata.uid}`;
    throw refuse(`found PV object ${volumeName} but ${uids}`);
  }
  const mode = found.spec.volumeMode ?? 'Filesystem';
  if (mode !== 'Filesystem') {
    throw refuse(`volume ${volume.name} has volumeMode ${mode}, but is specified in volumeMounts`);
  }
  return { volume: found, readOnly: volume.persistentVolumeClaim?.readOnly === true };
}

async function read<T>(got: Promise<T>, refusal: (why: string) => ClaimError): Promise<T> {
  try {
    return await got;
  } catch (error) {
    if (!(error instanceof apierrors.StatusError)) throw error;
    throw refusal(error.message);
  }
}
