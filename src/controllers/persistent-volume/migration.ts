// In-tree plugins of cloud providers do not exist any more: objects that name them are handed to
// the CSI drivers that have replaced them.

import { driverOfPlugin } from '#api/groups/core/v1/csi-migration/index.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  BETA_STORAGE_PROVISIONER,
  IN_TREE_FINALIZER,
  MIGRATED_TO,
  PROVISIONED_BY,
  STORAGE_PROVISIONER,
} from './names.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;

const IN_TREE = 'kubernetes.io/';

/**
 * Returns the provisioner for a class with this provisioner: the CSI driver that has replaced an
 * in-tree plugin, or the name itself. Undefined for plugins that do not exist.
 */
export function provisionerOf(name: string): string | undefined {
  return driverOfPlugin(name) ?? (name.startsWith(IN_TREE) ? undefined : name);
}

/**
 * Returns the volume of an in-tree plugin with the annotation of its CSI driver, and without the
 * plugin's finalizer; the same object if nothing changes.
 */
export function migratedVolume(volume: ReadVolume): ReadVolume {
  const { annotations = {}, finalizers } = volume.metadata;
  const provisioner = annotations[PROVISIONED_BY];
  if (provisioner === undefined) return volume;
  const driver = driverOfPlugin(provisioner);
  const noted = noting(volume, driver);
  if (driver === undefined || finalizers?.includes(IN_TREE_FINALIZER) !== true) return noted;
  return {
    ...noted,
    metadata: {
      ...noted.metadata,
      finalizers: finalizers.filter((one) => one !== IN_TREE_FINALIZER),
    },
  };
}

/**
 * Returns the claim with the annotation of the CSI driver that replaces its in-tree provisioner;
 * the same object if nothing changes.
 */
export function migratedClaim(claim: ReadClaim): ReadClaim {
  const { [STORAGE_PROVISIONER]: today, [BETA_STORAGE_PROVISIONER]: before } =
    claim.metadata.annotations ?? {};
  const provisioner = today ?? before;
  return provisioner === undefined ? claim : noting(claim, driverOfPlugin(provisioner));
}

/** Sets or removes the annotation. `driver`: undefined if no driver has replaced the plugin. */
function noting<T extends ReadVolume | ReadClaim>(object: T, driver: string | undefined): T {
  const { [MIGRATED_TO]: present, ...others } = object.metadata.annotations ?? {};
  if (present === driver) return object;
  const annotations = driver === undefined ? others : { ...others, [MIGRATED_TO]: driver };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** Reports whether a CSI driver has taken the volume over. The binder does nothing more with it. */
export function isMigrated({ metadata }: Pick<ReadVolume, 'metadata'>): boolean {
  return (metadata.annotations?.[MIGRATED_TO] ?? '') !== '';
}

/** Reports whether an external provisioner created the volume and deletes it. */
export function isExternal({ metadata, spec }: ReadVolume): boolean {
  if (isMigrated({ metadata })) return true;
  const provisioner = metadata.annotations?.[PROVISIONED_BY] ?? '';
  return provisioner === '' ? spec.csi !== undefined : !provisioner.startsWith(IN_TREE);
}
