// Builds the volume for a claim: a directory on the node that the scheduler selected.

import type { Node, PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import type { StorageClass } from '#api/groups/storage/v1/index.ts';
import {
  DIRECTORY_FINALIZER,
  HOSTNAME_LABEL,
  LOCAL_VOLUMES,
  SIMULATED_DIRECTORY,
  PROVISIONER,
  VOLUME_NODE,
} from './names.ts';
import { PROVISIONED_BY } from '../persistent-volume/names.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadVolume = Immutable<PersistentVolume>;
type ReadNode = Immutable<Node>;

const ACCESS_MODES: ReadonlySet<string> = new Set(['ReadWriteOnce', 'ReadWriteOncePod']);

export function volumeNameFor({ metadata }: ReadClaim): string {
  return `pvc-${metadata.uid}`;
}

/** Returns why a directory of a node cannot serve the claim; undefined if it can. */
export function objection(
  { spec }: ReadClaim,
  storageClass: Immutable<StorageClass>,
): string | undefined {
  if (spec.selector !== undefined) return 'claim Selector is not supported';
  if (spec.dataSource !== undefined || spec.dataSourceRef !== undefined)
    return 'data sources are not supported';
  if ((spec.volumeAttributesClassName ?? '') !== '')
    return 'volume attributes classes are not supported';
  if (spec.volumeMode === 'Block') return 'block volumes are not supported';
  const unsupported = (spec.accessModes ?? []).find((mode) => !ACCESS_MODES.has(mode));
  if (unsupported !== undefined) {
    return (
      `access mode ${unsupported} is not supported: a directory of a node can be ReadWriteOnce ` +
      'or ReadWriteOncePod'
    );
  }
  if ((storageClass.mountOptions ?? []).length > 0) return 'mount options are not supported';
  const [parameter] = Object.keys(storageClass.parameters ?? {});
  return parameter === undefined ? undefined : `there is no parameter ${JSON.stringify(parameter)}`;
}

/** Returns the directory below which the node creates volumes; undefined if it creates none. */
export function directoryOf({ metadata }: ReadNode): string | undefined {
  const value = metadata.annotations?.[LOCAL_VOLUMES];
  return value === '' ? SIMULATED_DIRECTORY : value;
}

/** Returns a new volume. `directory`: from `directoryOf`. */
export function newLocalVolume(
  claim: ReadClaim,
  storageClass: Immutable<StorageClass>,
  node: ReadNode,
  directory: string,
): New<PersistentVolume> {
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  const volumeName = volumeNameFor(claim);
  const reclaimPolicy = storageClass.reclaimPolicy ?? 'Delete';
  const hostname = node.metadata.labels?.[HOSTNAME_LABEL] ?? node.metadata.name;
  return {
    metadata: {
      name: volumeName,
      annotations: { [PROVISIONED_BY]: PROVISIONER, [VOLUME_NODE]: node.metadata.name },
      ...(reclaimPolicy === 'Delete' && { finalizers: [DIRECTORY_FINALIZER] }),
    },
    spec: {
      capacity: { storage: claim.spec.resources.requests?.['storage'] ?? '0' },
      accessModes: claim.spec.accessModes,
      volumeMode: 'Filesystem',
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: storageClass.metadata.name,
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name,
        uid,
        resourceVersion,
      },
      local: { path: `${directory}/${volumeName}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: HOSTNAME_LABEL, operator: 'In', values: [hostname] }] },
          ],
        },
      },
    },
  };
}

export function isOurs({ metadata }: ReadVolume): boolean {
  return metadata.annotations?.[PROVISIONED_BY] === PROVISIONER;
}

/**
 * Reports whether the volume must be deleted: its reclaim policy is Delete, and its claim is gone,
 * or it was deleted without a claim.
 */
export function isToBeRemoved({ metadata, spec, status }: ReadVolume): boolean {
  if (spec.persistentVolumeReclaimPolicy !== 'Delete') return false;
  if (metadata.deletionTimestamp === undefined)
    return status.phase === 'Released' || status.phase === 'Failed';
  return status.phase !== 'Bound' && metadata.finalizers?.includes(DIRECTORY_FINALIZER) === true;
}

/** Returns the finalizers that the volume should have; the same list if nothing changes. */
export function finalizersOf({ metadata, spec }: ReadVolume): readonly string[] {
  const { finalizers = [] } = metadata;
  const has = finalizers.includes(DIRECTORY_FINALIZER);
  const wanted = spec.persistentVolumeReclaimPolicy === 'Delete';
  if (wanted && !has && metadata.deletionTimestamp === undefined)
    return [...finalizers, DIRECTORY_FINALIZER];
  return has && !wanted ? withoutFinalizer(finalizers) : finalizers;
}

export function withoutFinalizer(finalizers: readonly string[]): readonly string[] {
  return finalizers.filter((each) => each !== DIRECTORY_FINALIZER);
}
