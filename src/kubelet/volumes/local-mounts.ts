// The volumes of type local that pods use as file systems. A directory is used where it is; the file
// system of a block device is mounted (device-volumes.ts).

import { dirname } from 'node:path';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import { podUid, type Pod } from '../types.ts';
import type { PersistentVolume } from './claims.ts';
import type { GrowableVolume } from './csi/expander.ts';
import { DeviceVolumes } from './device-volumes.ts';
import { localVolumeKind } from './local-volumes.ts';
import type { Mounter } from './mounter.ts';
import { givePersistentToGroup } from './ownership.ts';

export interface LocalVolumesConfig {
  readonly rootDir: string;
  /** The directory with the volumes of the built-in provisioner. */
  readonly localVolumesDir: string;
  readonly mounter: Mounter;
  /** Grows a volume that has been mounted, if its claim waits for that. Absent: none can grow. */
  readonly grow?: (pod: Pod, volume: GrowableVolume) => Promise<void>;
}

/** A volume of a pod on this node. */
export interface MountedGrowable {
  readonly pod: Pod;
  readonly volume: GrowableVolume;
}

interface Use {
  readonly pod: Pod;
  /** The name of the persistent volume. */
  readonly name: string;
  /** The path for the pod's containers. */
  readonly path: string;
  readonly readOnly: boolean;
  /** Undefined for a directory. */
  readonly device: string | undefined;
}

/** The type of upstream's local volumes without a type. */
const DEFAULT_FS_TYPE = 'ext4';

export class LocalVolumes {
  readonly #config: LocalVolumesConfig;
  readonly #devices: DeviceVolumes;
  /** By the pod's UID. */
  readonly #uses = new Map<string, readonly Use[]>();
  /** By the path of the volume: several pods may start with it. */
  readonly #mutex = new KeyedMutex();

  constructor(config: LocalVolumesConfig) {
    this.#config = config;
    this.#devices = new DeviceVolumes(config.rootDir, config.mounter);
  }

  /**
   * Makes the volume available to a pod, gives it to the pod's group, and returns its path. Rejects
   * with the reason.
   */
  async mount(
    pod: Pod,
    volume: PersistentVolume,
    local: NonNullable<PersistentVolume['spec']['local']>,
    readOnly: boolean,
  ): Promise<string> {
    const { localVolumesDir, grow } = this.#config;
    const uid = podUid(pod);
    const { name } = volume.metadata;
    const { path: source } = local;
    const kind = await this.#mutex.run(source, () => localVolumeKind(source, localVolumesDir));
    let use: Use = { pod, name, path: source, readOnly, device: undefined };
    if (kind === 'device') {
      const path = await this.#devices.mount(uid, {
        name,
        device: source,
        fsType: local.fsType === undefined || local.fsType === '' ? DEFAULT_FS_TYPE : local.fsType,
        mountOptions: volume.spec.mountOptions ?? [],
        readOnly,
      });
      use = { ...use, path, device: source };
      await grow?.(pod, this.#growable(use));
    }
    const others = (this.#uses.get(uid) ?? []).filter((other) => other.name !== name);
    this.#uses.set(uid, [...others, use]);
    if (!readOnly) await givePersistentToGroup(pod, use.path);
    return use.path;
  }

  /** Drops the record of a pod whose volumes are unmounted. */
  forget(uid: string): void {
    this.#uses.delete(uid);
  }

  /** Unmounts the devices of pods whose directories are gone. Rejects if one is busy. */
  async unmountUnused(): Promise<void> {
    await this.#devices.unmountUnused();
  }

  /** Reports whether the pod has a local volume at the path. */
  isMounted(uid: string, path: string): boolean {
    return this.#uses.get(uid)?.some((use) => use.path === path) ?? false;
  }

  /**
   * Returns the mounted volumes. The volumes of the built-in provisioner are left out: it grows them
   * by itself.
   */
  get growable(): readonly MountedGrowable[] {
    const { localVolumesDir } = this.#config;
    return [...this.#uses.values()]
      .flat()
      .filter(({ path }) => dirname(path) !== localVolumesDir)
      .map((use) => ({ pod: use.pod, volume: this.#growable(use) }));
  }

  #growable({ name, readOnly, device, path }: Use): GrowableVolume {
    return {
      name,
      readOnly,
      isSupported: () => Promise.resolve(true),
      grow: async () => {
        // Nothing keeps a directory at its size.
        if (device !== undefined) await this.#config.mounter.grow(device, path);
      },
    };
  }
}
