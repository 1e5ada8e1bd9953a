// Translates volumes of in-tree plugins to volumes of the CSI drivers that replaced the plugins.
// Used by components that schedule, attach or expand volumes. Stored volumes are not changed.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { PersistentVolume, Volume } from '../index.ts';
import { IN_TREE_PLUGINS, type InTreePlugin, type Translation } from './plugins.ts';
import { driverAffinity } from './topology.ts';

export { CsiMigrationError } from './plugins.ts';
export type { Translation } from './plugins.ts';

type ReadVolume = Immutable<PersistentVolume>;

const DRIVERS: ReadonlyMap<string, string> = new Map(
  IN_TREE_PLUGINS.map(({ name, driver }) => [name, driver]),
);

/**
 * Returns the driver that replaced a plugin (`kubernetes.io/aws-ebs`); undefined if there is none.
 */
export function driverOfPlugin(name: string): string | undefined {
  return DRIVERS.get(name);
}

/** Volumes are immutable, so each is translated at most once. Errors are not cached. */
const migratedVolumes = new WeakMap<ReadVolume, Migrated | undefined>();

export interface Migrated {
  /** The name of the in-tree plugin. */
  readonly plugin: string;
  /**
   * The volume with a CSI source. Its node affinity has other keys if the driver's nodes use other
   * labels.
   */
  readonly volume: ReadVolume;
}

/**
 * Returns the translated volume; undefined if no driver replaced its plugin. Throws
 * CsiMigrationError if the volume cannot be translated.
 */
export function migrated(volume: ReadVolume): Migrated | undefined {
  if (volume.spec.csi !== undefined) return undefined;
  if (migratedVolumes.has(volume)) return migratedVolumes.get(volume);
  let migrated: Migrated | undefined;
  for (const plugin of IN_TREE_PLUGINS) {
    const translation = plugin.persistent(volume);
    if (translation === undefined) continue;
    migrated = { plugin: plugin.name, volume: translated(volume, plugin, translation) };
    break;
  }
  migratedVolumes.set(volume, migrated);
  return migrated;
}

function translated(
  volume: ReadVolume,
  plugin: InTreePlugin,
  { csi, accessModes = volume.spec.accessModes }: Translation,
): ReadVolume {
  const { [plugin.field]: _, ...rest } = volume.spec;
  const nodeAffinity = driverAffinity(volume, plugin);
  const spec = {
    ...rest,
    csi,
    ...(accessModes !== undefined && { accessModes }),
    ...(nodeAffinity !== undefined && { nodeAffinity }),
  };
  return { ...volume, spec };
}

/**
 * Returns the name of the replaced plugin of a pod's volume or a PersistentVolume's spec; undefined
 * if there is none.
 */
export function pluginOfSource(source: Immutable<Volume> | ReadVolume['spec']): string | undefined {
  return IN_TREE_PLUGINS.find(({ field }) => source[field] !== undefined)?.name;
}

/** Translates a volume in a pod's spec. Returns undefined, and throws, as `migrated` does. */
export function migratedInline(
  volume: Immutable<Volume>,
  namespace: string,
): Required<Translation> | undefined {
  for (const plugin of IN_TREE_PLUGINS) {
    const translation = plugin.inline(volume, namespace);
    if (translation !== undefined) return translation;
  }
  return undefined;
}
