// Volumes of in-tree plugins, seen as those of the CSI drivers that have replaced them. Whoever schedules, attaches or grows volumes
// asks here; what is stored stays as its user has written it.

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

/** The driver that has replaced the plugin of that name (`kubernetes.io/aws-ebs`); undefined if none has. */
export function driverOfPlugin(name: string): string | undefined {
  return DRIVERS.get(name);
}

/** Volumes never change: each is looked at once. Errors are found again. */
const known = new WeakMap<ReadVolume, Migrated | undefined>();

export interface Migrated {
  /** Of the plugin whose volume it is. */
  readonly plugin: string;
  /** As its driver sees it: with another source, and another affinity where nodes say otherwise where they are. */
  readonly volume: ReadVolume;
}

/** undefined: it is not a volume of a plugin that has been replaced. Throws CsiMigrationError if it cannot be told to the driver. */
export function migrated(volume: ReadVolume): Migrated | undefined {
  if (volume.spec.csi !== undefined) return undefined;
  if (known.has(volume)) return known.get(volume);
  let found: Migrated | undefined;
  for (const plugin of IN_TREE_PLUGINS) {
    const translation = plugin.persistent(volume);
    if (translation === undefined) continue;
    found = { plugin: plugin.name, volume: translated(volume, plugin, translation) };
    break;
  }
  known.set(volume, found);
  return found;
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

/** Of which replaced plugin a volume is, by a pod's volume or the spec of the cluster's; undefined if of none. */
export function pluginOfSource(source: Immutable<Volume> | ReadVolume['spec']): string | undefined {
  return IN_TREE_PLUGINS.find(({ field }) => source[field] !== undefined)?.name;
}

/** A volume in a pod's spec, as its driver sees it. undefined, and throws, as `migrated` does. */
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
