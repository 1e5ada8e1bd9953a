// In-tree plugins of clouds that are gone: what names them is meant for the CSI drivers that have
// replaced them.

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
 * Returns the provisioner for a class that names this one; undefined for plugins that do not exist.
 */
export function provisionerOf(name: string): string | undefined {
  return driverOfPlugin(name) ?? (name.startsWith(IN_TREE) ? undefined : name);
}

/**
 * A volume that an in-tree plugin has made says which driver it belongs to now, and is not kept for
 * the plugin any more. The very same volume if nothing is to change.
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
 * A claim for which an in-tree plugin was to make a volume says which driver is to make it. As with
 * volumes.
 */
export function migratedClaim(claim: ReadClaim): ReadClaim {
  const { [STORAGE_PROVISIONER]: today, [BETA_STORAGE_PROVISIONER]: before } =
    claim.metadata.annotations ?? {};
  const provisioner = today ?? before;
  return provisioner === undefined ? claim : noting(claim, driverOfPlugin(provisioner));
}

/** `driver`: undefined for what has not been taken over. */
function noting<T extends ReadVolume | ReadClaim>(object: T, driver: string | undefined): T {
  const { [MIGRATED_TO]: present, ...others } = object.metadata.annotations ?? {};
  if (present === driver) return object;
  const annotations = driver === undefined ? others : { ...others, [MIGRATED_TO]: driver };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** A driver has taken it over, and does all that is to be done with it. */
export function isMigrated({ metadata }: Pick<ReadVolume, 'metadata'>): boolean {
  return (metadata.annotations?.[MIGRATED_TO] ?? '') !== '';
}

/** Reports whether an external provisioner has created the volume, and deletes it. */
export function isExternal({ metadata, spec }: ReadVolume): boolean {
  if (isMigrated({ metadata })) return true;
  const provisioner = metadata.annotations?.[PROVISIONED_BY] ?? '';
  return provisioner === '' ? spec.csi !== undefined : !provisioner.startsWith(IN_TREE);
}
