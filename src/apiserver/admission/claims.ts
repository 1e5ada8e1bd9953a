// What several plugins ask about persistent volume claims.

import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionTarget } from './plugin.ts';

export type ImmutableClaim = Immutable<PersistentVolumeClaim>;

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

/** A claim itself is written, not its status. */
export function isClaimWrite({ resource, subresource, operation }: AdmissionTarget): boolean {
  return (
    resource.resource === 'persistentvolumeclaims' &&
    resource.group === '' &&
    subresource === '' &&
    (operation === 'CREATE' || operation === 'UPDATE')
  );
}

/** '' for one that wants no class; undefined if nothing is said about it. */
export function classOfClaim({ metadata, spec }: ImmutableClaim): string | undefined {
  return metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName;
}
