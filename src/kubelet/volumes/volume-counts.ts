// Counts the volumes of the pods on this node by plugin, for the metric volume_manager_total_volumes.

import type { PersistentVolumeSpec } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Volume } from '../types.ts';

/** Upstream's names of the two states: wanted by a pod, and mounted. */
export type VolumeState = 'desired_state_of_world' | 'actual_state_of_world';

export interface VolumeCount {
  /** The plugin's full name, such as 'kubernetes.io/empty-dir' or 'kubernetes.io/csi:DRIVER'. */
  readonly plugin: string;
  readonly state: VolumeState;
  readonly count: number;
}

/** The plugins of sources, by the field of a volume or persistent volume. */
const PLUGINS = {
  configMap: 'configmap',
  downwardAPI: 'downward-api',
  emptyDir: 'empty-dir',
  hostPath: 'host-path',
  image: 'image',
  iscsi: 'iscsi',
  local: 'local-volume',
  nfs: 'nfs',
  projected: 'projected',
  secret: 'secret',
} as const;
/** Upstream's name of a plugin that is not known. */
const UNKNOWN = 'N/A';

/** Returns the full name of the plugin of a volume, or of a persistent volume. */
export function pluginNameOf(source: Volume | Immutable<PersistentVolumeSpec>): string {
  const { csi, flexVolume } = source;
  if (csi !== undefined) return `kubernetes.io/csi:${csi.driver}`;
  if (flexVolume !== undefined) return flexVolume.driver;
  for (const [field, plugin] of Object.entries(PLUGINS))
    if (Reflect.get(source, field) !== undefined) return `kubernetes.io/${plugin}`;
  return UNKNOWN;
}

export class VolumeCounts {
  /** By the pod's UID and the volume's name: the plugin. */
  readonly #desired = new Map<string, Map<string, string>>();
  readonly #mounted = new Map<string, Map<string, string>>();

  /** A pod wants the volume. */
  want(uid: string, volume: string, plugin: string): void {
    put(this.#desired, uid, volume, plugin);
  }

  /** A volume that a pod wants is mounted. */
  mounted(uid: string, volume: string): void {
    const plugin = this.#desired.get(uid)?.get(volume);
    if (plugin !== undefined) put(this.#mounted, uid, volume, plugin);
  }

  /** The pod wants no volumes any more. */
  unwant(uid: string): void {
    this.#desired.delete(uid);
  }

  /** None of the pod's volumes is mounted any more. */
  unmounted(uid: string): void {
    this.#mounted.delete(uid);
  }

  counts(): readonly VolumeCount[] {
    return [
      ...countsOf('actual_state_of_world', this.#mounted),
      ...countsOf('desired_state_of_world', this.#desired),
    ];
  }
}

type Plugins = ReadonlyMap<string, ReadonlyMap<string, string>>;

function put(of: Map<string, Map<string, string>>, uid: string, name: string, plugin: string) {
  const volumes = of.get(uid) ?? new Map<string, string>();
  of.set(uid, volumes.set(name, plugin));
}

function countsOf(state: VolumeState, of: Plugins): readonly VolumeCount[] {
  const counts = new Map<string, number>();
  for (const volumes of of.values())
    for (const plugin of volumes.values()) counts.set(plugin, (counts.get(plugin) ?? 0) + 1);
  return [...counts].map(([plugin, count]) => ({ plugin, state, count }));
}
