// Questions about persistent volume claims that several plugins share.

import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionTarget } from './plugin.ts';

export type ImmutableClaim = Immutable<PersistentVolumeClaim>;

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

/** Reports whether a write is of a claim itself, not of its status. */
export function isClaimWrite({ resource, subresource, operation }: AdmissionTarget): boolean {
  return (
    resource.resource === 'persistentvolumeclaims' &&
    resource.group === '' &&
    subresource === '' &&
    (operation === 'CREATE' || operation === 'UPDATE')
  );
}

/**
 * Returns the storage class of a claim: '' if the claim wants none, undefined if it has no such
 * field.
 */
export function classOfClaim({ metadata, spec }: ImmutableClaim): string | undefined {
  return metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName;
}
