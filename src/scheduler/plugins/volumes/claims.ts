// Persistent volumes and claims for the volume plugins.

import type {
  PersistentVolume as CoreVolume,
  PersistentVolumeClaim as CoreClaim,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { StorageClass as StorageClassObject } from '#api/groups/storage/v1/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { EventObjects, QueueingHint } from '#scheduler/framework/events.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import { claimsOf, type ClaimUse } from '#scheduler/framework/pod-volumes.ts';

export type PersistentVolume = Immutable<CoreVolume>;
export type PersistentVolumeClaim = Immutable<CoreClaim>;
export type StorageClass = Immutable<StorageClassObject>;

/** The annotation that named the class before there was a field; it takes precedence. */
const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
/** Annotation of a claim: it and its volume refer to each other. */
const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';

/** Returns '' for a claim without a class. */
export function classOfClaim({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? '';
}

export function classOfVolume({ metadata, spec }: PersistentVolume): string {
  return metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? '';
}

export function isFullyBound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return Boolean(spec.volumeName) && metadata.annotations?.[BIND_COMPLETED] !== undefined;
}

/** Returns the message for an object that does not exist. `resource`: its name in messages. */
export function notFoundMessage(
  resource: 'persistentvolumeclaim' | 'persistentvolume' | 'storageclass',
  name: string,
): string {
  return `${resource === 'storageclass' ? 'storageclass.storage.k8s.io' : resource} ${quote(name)} not found`;
}

/** Returns why a claim is not owned by the pod of its ephemeral volume; undefined if it is. */
export function notOwnedBy(pod: Pod, { metadata }: PersistentVolumeClaim): string | undefined {
  const owned = metadata.ownerReferences?.some(
    (owner) => owner.controller === true && owner.uid === pod.metadata.uid,
  );
  if (owned === true) return undefined;
  const [namespace, name] = [metadata.namespace ?? '', metadata.name ?? ''];
  return (
    `PVC ${namespace}/${name} was not created for pod ` +
    `${pod.metadata.namespace}/${pod.metadata.name} (pod is not owner)`
  );
}

export function claimKey({ metadata }: PersistentVolumeClaim): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

/**
 * Returns a hint for events of claims that the pod mounts. `counts`: returns false for claims to
 * ignore.
 */
export function concernsClaimOf(counts: (use: ClaimUse) => boolean = () => true): QueueingHint {
  return (pod: Pod, { after }: EventObjects) => {
    const claim = after as PersistentVolumeClaim | undefined;
    if (claim === undefined || claim.metadata.namespace !== pod.metadata.namespace) return false;
    return claimsOf(pod).some((use) => counts(use) && use.name === claim.metadata.name);
  };
}
