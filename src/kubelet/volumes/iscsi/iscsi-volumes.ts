// Volumes of iSCSI targets: attached and mounted once, below plugins/kubernetes.io/iscsi, and bound
// into the directory of each pod. Block volumes are not mounted: links lead to their device, as
// upstream has them. A record of the disk lies beneath its mount, or beside the links, and each pod's
// directory has a note of the disks that it uses, so a restarted kubelet finds what it has to undo.

import { mkdir, readFile, rm, rmdir, symlink, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import { writeDurableFile } from '#machinery/files/durable-file.ts';
import { namesIn } from '#machinery/files/names-in.ts';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import type { Logger } from '#machinery/log.ts';
import { podDir, podsDir } from '../../paths.ts';
import { CsiOperationError } from '../csi/host.ts';
import { isMounted, type Mounter } from '../mounter.ts';
import { attach, detach } from './attach.ts';
import { directoryOf, fromRecord, type IscsiDisk, recordOf } from './disk.ts';
import type { IscsiSystem } from './system.ts';

export interface IscsiVolumesConfig {
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mounter: Mounter;
  readonly system: IscsiSystem;
}

export interface IscsiVolume {
  readonly disk: IscsiDisk;
  /** The file system of a blank disk, and of the mount. Default: 'ext4'. */
  readonly fsType: string | undefined;
  readonly mountOptions: readonly string[];
  readonly readOnly: boolean;
  readonly secret: Readonly<Record<string, string>>;
}

const RECORD = 'iscsi.json';
/** The directory of a pod's notes. */
const NOTES = 'iscsi-disks';
/** The directory of block volumes. */
const DEVICES = 'volumeDevices';

export class IscsiVolumes {
  readonly #config: IscsiVolumesConfig;
  /** By target: one volume must not log out while another one logs in. */
  readonly #mutex = new KeyedMutex();
  /** By UID: the disks of pods that have ended, until they are detached. */
  readonly #ending = new Map<string, readonly string[]>();

  constructor(config: IscsiVolumesConfig) {
    this.#config = config;
  }

  /**
   * Attaches and mounts the disk for a pod, and returns the path. Idempotent. Rejects with
   * CsiOperationError; a later call continues.
   */
  mount(podUid: string, volume: IscsiVolume, signal?: AbortSignal): Promise<string> {
    return this.#mutex.run(volume.disk.iqn, () => this.#mount(podUid, volume, signal));
  }

  async #mount(
    podUid: string,
    { disk, fsType, mountOptions: options, readOnly, secret }: IscsiVolume,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const { rootDir, mounter, system, clock } = this.#config;
    const pod = podDir(rootDir, podUid);
    const own = join(pod, 'volumes', 'kubernetes.io~iscsi', disk.volumeName);
    const name = directoryOf(disk);
    const shared = join(this.#directory, name);
    if (!mounter.available)
      throw new Error('iSCSI volumes cannot be mounted by this kubelet: it takes root on Linux');
    // Marks the disk as used before anything is attached.
    await mkdir(join(pod, NOTES), { recursive: true, mode: 0o750 });
    writeDurableFile(join(pod, NOTES, disk.volumeName), name);
    if (!(await isMounted(this.#config.mounter, shared))) {
      await mkdir(shared, { recursive: true, mode: 0o750 });
      writeDurableFile(join(shared, RECORD), JSON.stringify(recordOf(disk)));
      const device = await operation('MountVolume.WaitForAttach failed', () =>
        attach(disk, { system, clock, secret, ...(signal !== undefined && { signal }) }),
      );
      await operation('MountVolume.MountDevice failed', () =>
        mounter.device({ device, target: shared, fsType: fsType || 'ext4', options, readOnly }),
      );
    }
    if (!(await isMounted(this.#config.mounter, own))) {
      await mkdir(own, { recursive: true, mode: 0o750 });
      await mounter.bind(shared, own);
    }
    return own;
  }

  /**
   * Attaches the disk for a pod that uses it as a device, and returns the device. Idempotent. Rejects
   * with CsiOperationError; a later call continues.
   */
  map(
    podUid: string,
    { disk, secret }: Pick<IscsiVolume, 'disk' | 'secret'>,
    signal?: AbortSignal,
  ): Promise<string> {
    return this.#mutex.run(disk.iqn, async () => {
      const { rootDir, mounter, system, clock } = this.#config;
      const pod = podDir(rootDir, podUid);
      const name = join(DEVICES, directoryOf(disk));
      const shared = join(this.#directory, name);
      if (!mounter.available)
        throw new Error('iSCSI volumes cannot be attached by this kubelet: it takes root on Linux');
      await mkdir(join(pod, NOTES), { recursive: true, mode: 0o750 });
      writeDurableFile(join(pod, NOTES, disk.volumeName), name);
      await mkdir(shared, { recursive: true, mode: 0o750 });
      writeDurableFile(join(shared, RECORD), JSON.stringify(recordOf(disk)));
      const device = await operation('MapVolume.WaitForAttach failed', async () =>
        system.resolve(
          await attach(disk, { system, clock, secret, ...(signal !== undefined && { signal }) }),
        ),
      );
      const links = [
        join(shared, podUid),
        join(pod, DEVICES, 'kubernetes.io~iscsi', disk.volumeName),
      ];
      for (const link of links) {
        await mkdir(dirname(link), { recursive: true, mode: 0o750 });
        await rm(link, { force: true });
        await symlink(device, link);
      }
      return device;
    });
  }

  /** Remembers the disks of a pod whose directory is about to be removed. */
  async beforeRemoval(podUid: string): Promise<void> {
    const noted = await this.#noted(podUid);
    if (noted.length > 0) this.#ending.set(podUid, noted);
  }

  /**
   * Unmounts and detaches the disks that no pod's directory notes. Rejects if that fails for a disk
   * of this pod, which has ended; other disks are tried again later.
   */
  async unmountUnused(podUid: string): Promise<void> {
    const own = this.#ending.get(podUid) ?? [];
    const failures: unknown[] = [];
    for (const name of await this.#disks()) {
      try {
        await this.#mutex.run(targetOf(name), () => this.#unmountUnused(name));
      } catch (error) {
        if (own.includes(name)) failures.push(error);
        else this.#config.logger.warn('iSCSI disk not detached', { disk: name, err: error });
      }
    }
    if (failures.length > 0) throw failures[0];
    this.#ending.delete(podUid);
  }

  async #unmountUnused(name: string): Promise<void> {
    const { mounter, system } = this.#config;
    const shared = join(this.#directory, name);
    const users = (await this.#used()).get(name) ?? [];
    if (name.startsWith(DEVICES))
      for (const entry of await namesIn(shared))
        if (entry !== RECORD && !users.includes(entry)) await unlink(join(shared, entry));
    if (users.length > 0) return;
    if (await isMounted(this.#config.mounter, shared)) await mounter.unmount(shared);
    const record = join(shared, RECORD);
    const text = await readFile(record, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return undefined;
    });
    if (text !== undefined) {
      const disk = fromRecord(text);
      const others = (await this.#disks()).filter((other) => other !== name);
      const isInUse = others.some((other) => targetOf(other) === disk.iqn);
      // The same disk may be mounted for one pod, and a device for another one.
      const isShared = others.some((other) => other.endsWith(directoryOf(disk)));
      if (!isShared) await detach(disk, system, isInUse);
      await unlink(record);
    }
    await rmdir(shared);
  }

  get #directory(): string {
    return join(this.#config.rootDir, 'plugins', 'kubernetes.io', 'iscsi');
  }

  /** Returns the directories of disks: 'iface-NAME/PORTAL-IQN-lun-LUN', with DEVICES before it. */
  async #disks(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const kind of ['', DEVICES]) {
      for (const iface of await namesIn(join(this.#directory, kind))) {
        if (!iface.startsWith('iface-')) continue;
        for (const disk of await namesIn(join(this.#directory, kind, iface)))
          found.push(join(kind, iface, disk));
      }
    }
    return found;
  }

  /** Returns the UIDs of the pods that use each disk, by its directory. */
  async #used(): Promise<ReadonlyMap<string, readonly string[]>> {
    const used = new Map<string, string[]>();
    for (const uid of await namesIn(podsDir(this.#config.rootDir)))
      for (const name of await this.#noted(uid)) used.set(name, [...(used.get(name) ?? []), uid]);
    return used;
  }

  /** Returns the directories of the disks that a pod uses. */
  async #noted(uid: string): Promise<readonly string[]> {
    const notes = join(podDir(this.#config.rootDir, uid), NOTES);
    const noted: string[] = [];
    for (const note of await namesIn(notes)) noted.push(await readFile(join(notes, note), 'utf8'));
    return noted;
  }
}

/** Returns the target of a disk's directory. */
function targetOf(name: string): string {
  return /:\d+-(.*)-lun-\d+$/.exec(name)?.[1] ?? name;
}

async function operation<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new CsiOperationError(name, (error as Error).message, { cause: error });
  }
}
