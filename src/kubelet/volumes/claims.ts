// Volumes of persistent volume claims: finds the persistent volume, and checks that the pod may use
// it.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Pod, Volume } from '../types.ts';

export type PersistentVolume = Immutable<v1.PersistentVolume>;
export type PersistentVolumeClaim = Immutable<v1.PersistentVolumeClaim>;

/** Reads objects from the API; rejects with NotFound if the object does not exist. */
export interface ClaimSource {
  claim(namespace: string, name: string): Promise<PersistentVolumeClaim>;
  volume(name: string): Promise<PersistentVolume>;
}

export interface ClaimedVolume {
  readonly volume: PersistentVolume;
  readonly readOnly: boolean;
}

/** The claim provides no volume for the pod, or not yet. */
export class ClaimError extends Error {
  constructor(namespace: string, claim: string, reason: string) {
    super(`error processing PVC ${namespace}/${claim}: ${reason}`);
    this.name = 'ClaimError';
  }
}

/** Returns the name of a volume's claim; undefined for a volume of another kind. */
export function claimNameOf(pod: Pod, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`;
}

/**
 * Returns the persistent volume. Rejects with ClaimError. `claimName`: from `claimNameOf`.
 * `isDevice`: containers use the volume as a device.
 */
export async function claimedVolume(
  pod: Pod,
  volume: Volume,
  claimName: string,
  source: ClaimSource,
  isDevice: boolean,
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
  // A pod that runs already continues, also after a restart of the kubelet.
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
  if ((mode === 'Block') !== isDevice) {
    const where = isDevice ? 'volumeDevices' : 'volumeMounts';
    throw refuse(`volume ${volume.name} has volumeMode ${mode}, but is specified in ${where}`);
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
