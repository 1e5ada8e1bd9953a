// Volumes of in-tree plugins that CSI drivers have replaced: PersistentVolumes are translated to
// the form that the driver sees, and disks that pods name in their specs are treated as volumes
// without an object.

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

/** Marks names of volumes without an object. No PersistentVolume has a name with this prefix. */
const INLINE = '^';

/**
 * Returns the volume as its driver sees it. A volume that the driver does not understand, or that
 * belongs to no driver, is returned unchanged.
 */
export function asDriverSees(volume: ReadVolume): ReadVolume {
  return unlessForeign(() => migrated(volume)?.volume) ?? volume;
}

/**
 * The disks in the specs of pods that have some. A pod's volumes never change, so they are looked up
 * once.
 */
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
  // A weak entry for each pod is a part of each collection of garbage that nothing else can run beside.
  if (found.length === 0) return NONE;
  disks.set(pod, found);
  return found;
}

/**
 * Returns the volume of an attachment that does not refer to a PersistentVolume; undefined if it is
 * not of a CSI driver.
 */
export function inlineVolumeOf({ spec }: Immutable<VolumeAttachment>): ReadVolume | undefined {
  const said = spec.source.inlineVolumeSpec;
  return said?.csi === undefined ? undefined : inlineVolume(said, said.csi);
}

export function isInline({ metadata }: ReadVolume): boolean {
  return metadata.name.startsWith(INLINE);
}

/** Returns the volume's name for events. */
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

/**
 * Returns the name of a disk in messages, as upstream writes it: driver and disk, or the disk
 * alone.
 */
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
