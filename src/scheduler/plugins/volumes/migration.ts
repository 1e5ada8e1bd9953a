// Volumes of in-tree plugins that CSI drivers attach: the driver determines their limit per node,
// and the nodes that can use them.

import {
  CsiMigrationError,
  driverOfPlugin,
  migrated,
  migratedInline,
  pluginOfSource,
} from '#api/groups/core/v1/csi-migration/index.ts';
import type { Volume } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { CSINode } from '#api/groups/storage/v1/index.ts';
import type { PersistentVolume } from './claims.ts';

/** Annotation of a CSINode: the plugins whose volumes its kubelet leaves to drivers. */
const MIGRATED_PLUGINS = 'storage.alpha.kubernetes.io/migrated-plugins';

/**
 * The plugins that matter to the scheduler. Volumes of others are not attached, or their drivers
 * report no topology.
 */
const PLUGINS: ReadonlySet<string> = new Set([
  'kubernetes.io/aws-ebs',
  'kubernetes.io/azure-disk',
  'kubernetes.io/cinder',
  'kubernetes.io/gce-pd',
  'kubernetes.io/portworx-volume',
]);

/** The volume that a driver attaches. */
export interface Attachable {
  readonly driver: string;
  readonly handle: string;
}

/**
 * Returns the driver's volume; undefined if it does not count, or its driver would not understand
 * it.
 */
export function attachableOf(volume: PersistentVolume): Attachable | undefined {
  const { csi = ofMigrated(volume) } = volume.spec;
  return csi === undefined ? undefined : { driver: csi.driver, handle: csi.volumeHandle };
}

function ofMigrated(volume: PersistentVolume) {
  if (!PLUGINS.has(pluginOfSource(volume.spec) ?? '')) return undefined;
  try {
    return migrated(volume)?.volume.spec.csi;
  } catch (error) {
    if (error instanceof CsiMigrationError) return undefined;
    throw error;
  }
}

/**
 * Returns the driver's volume for a volume in a pod's spec. Throws CsiMigrationError for one that
 * its driver does not understand.
 */
export function attachableOfInline(
  volume: Immutable<Volume>,
  namespace: string,
): Attachable | undefined {
  if (!PLUGINS.has(pluginOfSource(volume) ?? '')) return undefined;
  const csi = migratedInline(volume, namespace)?.csi;
  return csi === undefined ? undefined : { driver: csi.driver, handle: csi.volumeHandle };
}

/**
 * Returns the driver of the volumes that this provisioner creates; undefined if they do not count.
 */
export function driverOf(provisioner: string): string | undefined {
  const driver = driverOfPlugin(provisioner);
  if (driver === undefined) return provisioner;
  return PLUGINS.has(provisioner) ? driver : undefined;
}

/** Reports whether nodes that leave its plugin to a driver see the volume differently. */
export function isMigratable(volume: PersistentVolume): boolean {
  return PLUGINS.has(pluginOfSource(volume.spec) ?? '');
}

/** Returns the volume as a node sees it. Throws CsiMigrationError. */
export function seenFrom(
  volume: PersistentVolume,
  node: Immutable<CSINode> | undefined,
): PersistentVolume {
  if (volume.spec.csi !== undefined) return volume;
  const plugin = pluginOfSource(volume.spec) ?? '';
  if (!PLUGINS.has(plugin) || !migratedPluginsOf(node).split(',').includes(plugin)) return volume;
  try {
    return migrated(volume)?.volume ?? volume;
  } catch (error) {
    if (error instanceof CsiMigrationError)
      throw new CsiMigrationError(`could not translate pv: ${error.message}`, { cause: error });
    throw error;
  }
}

export function migratedPluginsOf(node: Immutable<CSINode> | undefined): string {
  return node?.metadata.annotations?.[MIGRATED_PLUGINS] ?? '';
}
