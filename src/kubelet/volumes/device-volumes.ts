// Persistent volumes of type local whose path is a block device, used as file systems. A device is
// mounted once, below plugins/kubernetes.io/local-volume/mounts, and bound into the directory of
// each pod. The directories on disk say which devices are in use, so a restarted kubelet finds what
// it has to unmount.

import { access, mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from '#machinery/files/names-in.ts';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import { podDir, podsDir } from '../paths.ts';
import { isMounted, type Mounter } from './mounter.ts';

export interface DeviceVolume {
  /** The name of the persistent volume. */
  readonly name: string;
  readonly device: string;
  readonly fsType: string;
  readonly mountOptions: readonly string[];
  readonly readOnly: boolean;
}

const PLUGIN = 'kubernetes.io~local-volume';

export class DeviceVolumes {
  readonly #rootDir: string;
  readonly #mounter: Mounter;
  /** By the volume's name. */
  readonly #mutex = new KeyedMutex();

  constructor(rootDir: string, mounter: Mounter) {
    this.#rootDir = rootDir;
    this.#mounter = mounter;
  }

  /**
   * Mounts the device for a pod, and returns the path. Idempotent. Rejects with the reason; a later
   * call continues.
   */
  mount(podUid: string, volume: DeviceVolume): Promise<string> {
    return this.#mutex.run(volume.name, async () => {
      const { name, device, fsType, mountOptions: options, readOnly } = volume;
      const [shared, own] = [join(this.#sharedDir(), name), this.#podPath(podUid, name)];
      if (!this.#mounter.available)
        throw new Error(
          `the device ${device} cannot be mounted by this kubelet: it takes root on Linux`,
        );
      // Marks the device as used before it is mounted.
      await mkdir(own, { recursive: true, mode: 0o750 });
      if (!(await isMounted(this.#mounter, shared))) {
        await mkdir(shared, { recursive: true, mode: 0o750 });
        await this.#mounter.device({ device, target: shared, fsType, options, readOnly });
      }
      if (!(await isMounted(this.#mounter, own))) await this.#mounter.bind(shared, own);
      return own;
    });
  }

  /** Unmounts the devices that no pod's directory has. Rejects if one is busy. */
  async unmountUnused(): Promise<void> {
    for (const name of await namesIn(this.#sharedDir())) {
      await this.#mutex.run(name, async () => {
        if (await this.#isUsed(name)) return;
        const shared = join(this.#sharedDir(), name);
        if (await isMounted(this.#mounter, shared)) await this.#mounter.unmount(shared);
        // Fails on a directory with files: those of a device that is still mounted stay.
        await rmdir(shared);
      });
    }
  }

  #sharedDir(): string {
    return join(this.#rootDir, 'plugins', 'kubernetes.io', 'local-volume', 'mounts');
  }

  #podPath(podUid: string, name: string): string {
    return join(podDir(this.#rootDir, podUid), 'volumes', PLUGIN, name);
  }

  async #isUsed(name: string): Promise<boolean> {
    for (const uid of await namesIn(podsDir(this.#rootDir)))
      if (await exists(this.#podPath(uid, name))) return true;
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
