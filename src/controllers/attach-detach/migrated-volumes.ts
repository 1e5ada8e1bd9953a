// Volumes of in-tree plugins that CSI drivers attach by now: those of the cluster as their drivers
// see them, and disks that pods name in their own specs, which are treated as volumes without an
// object.

import {
  CsiMigrationError,
  migrated,
  migratedInline,
} from '#api/groups/core/v1/csi-migration/index.ts';
import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  Pod,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { VolumeAttachment } from '#api/groups/storage/v1/index.ts';

type ReadVolume = Immutable<PersistentVolume>;

/** No volume of the cluster has a name that begins so. */
const INLINE = '^';

/**
 * As its driver sees it. One that its driver does not understand is left as it is, and so is none
 * of a driver.
 */
export function asDriverSees(volume: ReadVolume): ReadVolume {
  return unlessForeign(() => migrated(volume)?.volume) ?? volume;
}

/** Pods never change: the disks of each are looked up once. */
const disks = new WeakMap<Immutable<Pod>, readonly ReadVolume[]>();
const NONE: readonly ReadVolume[] = [];

export function inlineVolumesOf(pod: Immutable<Pod>): readonly ReadVolume[] {
  const known = disks.get(pod);
  if (known !== undefined) return known;
  const found = (pod.spec.volumes ?? []).flatMap((volume) => {
    const said = unlessForeign(() => migratedInline(volume, pod.metadata.namespace ?? ''));
    return said === undefined
      ? []
      : [inlineVolume({ ...said, volumeMode: 'Filesystem' }, said.csi)];
  });
  const volumes = found.length === 0 ? NONE : found;
  disks.set(pod, volumes);
  return volumes;
}

/**
 * The volume of an attachment that does not refer to one of the cluster; undefined if it is not of
 * a CSI driver.
 */
export function inlineVolumeOf({ spec }: Immutable<VolumeAttachment>): ReadVolume | undefined {
  const said = spec.source.inlineVolumeSpec;
  return said?.csi === undefined ? undefined : inlineVolume(said, said.csi);
}

export function isInline({ metadata }: ReadVolume): boolean {
  return metadata.name.startsWith(INLINE);
}

/** The name in events. */
export function shownName({ metadata: { name } }: ReadVolume): string {
  return name.startsWith(INLINE) ? name.slice(INLINE.length) : name;
}

function inlineVolume(
  spec: ReadVolume['spec'],
  csi: Immutable<CSIPersistentVolumeSource>,
): ReadVolume {
  const name = `${INLINE}${nameOf(csi)}`;
  return {
    metadata: { name, uid: name, resourceVersion: '', creationTimestamp: '' },
    spec,
    status: {},
  };
}

/** Kubernetes calls them by driver and disk, or by the disk alone. */
function nameOf({ driver, volumeHandle }: Immutable<CSIPersistentVolumeSource>): string {
  switch (driver) {
    case 'disk.csi.azure.com':
    case 'file.csi.azure.com':
      return volumeHandle;
    case 'pd.csi.storage.gke.io':
      return `${driver}-${volumeHandle.slice(volumeHandle.lastIndexOf('/') + 1)}`;
    default:
      return `${driver}-${volumeHandle}`;
  }
}

function unlessForeign<T>(translate: () => T): T | undefined {
  try {
    return translate();
  } catch (error) {
    if (error instanceof CsiMigrationError) return undefined;
    throw error;
  }
}
