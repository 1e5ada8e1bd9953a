// The CSI volumes of the pods on this node: mounts and unmounts them, and unstages a volume when no
// pod uses it any more.
//
// Operations on one volume run one after the other: staging and publishing for a pod are one of
// them, so a volume is never unstaged while another pod is about to use it. What is mounted is read
// from files (published.ts), so volumes of before a restart are unmounted as any others.

import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '#machinery/error-message.ts';
import { untilAborted } from '../../handlers/timeout.ts';
import { podUid, type Pod } from '../../types.ts';
import { waitForAttachment } from './attach.ts';
import { needsAttaching } from './driver-policy.ts';
import { type CsiHost, CsiOperationError, type CsiVolume, type MountedVolume } from './host.ts';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import { mapVolume, unmapVolume } from './map-volume.ts';
import { mountVolume } from './mount-volume.ts';
import { blockPaths, publishPath, uniqueVolumeName } from './names.ts';
import {
  blockVolumes,
  publishedIn,
  publishedVolumes,
  type PublishedVolume,
  stagedVolumes,
} from './published.ts';
import { ignoreMissing, removeVolumeDir } from './remove-volume-dir.ts';
import { DATA_FILE, type VolumeData } from './volume-data.ts';
import { type CsiVolumeStats, volumeStats } from './volume-stats.ts';

/** A volume that a pod uses. */
interface Use {
  readonly volume: CsiVolume;
  readonly pod: Pod;
  mounted: (MountedVolume & { readonly at: number }) | undefined;
}

/** Volumes whose driver wants it are published again after this time. */
const REPUBLISH_MS = 90_000;

export class CsiVolumes {
  readonly #host: CsiHost;
  readonly #mutex = new KeyedMutex();
  /** By pod UID, then by the volume's unique name. */
  readonly #uses = new Map<string, Map<string, Use>>();
  /** By unique name: the drivers of volumes that are in use and may have been attached. */
  readonly #inUse = new Map<string, string>();

  constructor(host: CsiHost) {
    this.#host = host;
  }

  /** The names of attached volumes that are in use, for the status of the Node. */
  get inUse(): readonly string[] {
    return [...this.#inUse]
      .filter(([, driver]) => needsAttaching(this.#host.driverObject(driver)))
      .map(([name]) => name)
      .toSorted();
  }

  /** The mounted volumes, with their pods. */
  get mounted(): readonly { volume: CsiVolume; pod: Pod; mounted: MountedVolume }[] {
    return [...this.#uses.values()].flatMap((uses) =>
      [...uses.values()].flatMap(({ volume, pod, mounted }) =>
        mounted === undefined ? [] : [{ volume, pod, mounted }],
      ),
    );
  }

  /**
   * Marks volumes that an earlier kubelet has staged as in use, so that they are not detached
   * before they are unmounted.
   */
  async reconstruct(): Promise<void> {
    const { rootDir } = this.#host;
    const [staged, block, published] = await Promise.all([
      stagedVolumes(rootDir),
      blockVolumes(rootDir),
      publishedVolumes(rootDir),
    ]);
    for (const { data } of [...staged, ...block, ...published]) {
      if (data === undefined || data.volumeLifecycleMode === 'Ephemeral') continue;
      this.#inUse.set(uniqueVolumeName(data.driverName, data.volumeHandle), data.driverName);
    }
  }

  /**
   * Mounts the volume for the pod, or publishes its device. Returns the path. Rejects with
   * CsiOperationError or UnattachedError. The operation may outlive `signal`.
   */
  async mount(pod: Pod, volume: CsiVolume, signal?: AbortSignal): Promise<string> {
    const name = uniqueVolumeName(volume.driver, volume.handle);
    const use = this.#use(pod, name, volume);
    if (use.mounted !== undefined && !this.#isDue(use)) return use.mounted.path;
    const context = await this.#attached(name, volume, signal);
    const mounting = this.#mutex.run(name, async () => {
      signal?.throwIfAborted();
      if (this.#uses.get(podUid(pod))?.get(name) !== use)
        throw new Error('the volumes of the pod have been unmounted meanwhile');
      const isRemount = use.mounted !== undefined;
      if (!isRemount && volume.accessModes.includes('ReadWriteOncePod'))
        await this.#checkExclusive(pod, name, volume);
      const mounted = volume.isBlock
        ? await mapVolume(this.#host, pod, volume, context)
        : await mountVolume(this.#host, pod, volume, context, isRemount);
      if (!isRemount) await this.#afterMount(use, mounted);
      use.mounted = { ...mounted, at: this.#host.clock.monotonic() };
      return mounted.path;
    });
    return await (signal === undefined ? mounting : untilAborted(mounting, signal));
  }

  /**
   * Asks the driver for the statistics of the pod's volume at the path. Resolves with undefined if no
   * volume is mounted there or the driver has none; rejects with the driver's error.
   */
  async stats(uid: string, path: string, signal: AbortSignal): Promise<CsiVolumeStats | undefined> {
    const uses = [...(this.#uses.get(uid)?.values() ?? [])];
    const use = uses.find(({ mounted }) => mounted?.path === path);
    if (use === undefined) return undefined;
    const { driver, handle } = use.volume;
    return await volumeStats(this.#host.service(driver), handle, path, signal);
  }

  /** Rejects if another pod has the volume: the scheduler may have been bypassed. */
  async #checkExclusive(pod: Pod, name: string, { isBlock }: CsiVolume): Promise<void> {
    const { rootDir } = this.#host;
    const uid = podUid(pod);
    const isSame = ({ driverName, volumeHandle }: VolumeData): boolean =>
      uniqueVolumeName(driverName, volumeHandle) === name;
    const isElsewhere =
      (await publishedVolumes(rootDir)).some(
        ({ podUid: other, data }) => other !== uid && data !== undefined && isSame(data),
      ) ||
      (await blockVolumes(rootDir)).some(
        ({ data, pods }) => isSame(data) && pods.some((other) => other !== uid),
      );
    if (!isElsewhere) return;
    throw new CsiOperationError(
      isBlock ? 'MapVolume.SetUpDevice failed' : 'MountVolume.SetUp failed',
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
  }

  /** Waits until the volume is attached. Nothing else is needed on simulated nodes. */
  async attach(volume: CsiVolume, signal?: AbortSignal): Promise<void> {
    if (volume.isInline || !needsAttaching(await this.#host.readDriverObject(volume.driver)))
      return;
    const name = uniqueVolumeName(volume.driver, volume.handle);
    await this.#attached(name, volume, signal);
  }

  /** Returns the UIDs of pods with volumes that must be published again. */
  dueForRepublish(): readonly string[] {
    return [...this.#uses]
      .filter(([, uses]) => [...uses.values()].some((use) => this.#isDue(use)))
      .map(([uid]) => uid);
  }

  /**
   * Unmounts the volumes of a pod, and unstages those that no other pod uses. Rejects with the
   * first failure, after all volumes were tried.
   */
  async unmount(uid: string): Promise<void> {
    const { rootDir } = this.#host;
    const wanted = [...(this.#uses.get(uid)?.keys() ?? [])];
    // From here on the pod does not keep its volumes staged.
    this.#uses.delete(uid);
    const errors: unknown[] = [];
    const attempt = async (name: string, work: () => Promise<void>): Promise<void> => {
      await this.#mutex.run(name, work).catch((error: unknown) => errors.push(error));
    };
    const touched = new Set(wanted);
    // A mount in flight has written the file before; one that has not begun finds no use.
    for (const name of wanted) await this.#mutex.run(name, () => Promise.resolve());
    for (const published of await publishedIn(rootDir, uid)) {
      const { data } = published;
      const name = data === undefined ? '' : uniqueVolumeName(data.driverName, data.volumeHandle);
      touched.add(name);
      await attempt(name, () => this.#unpublish(published));
    }
    for (const { name, data, pods } of await blockVolumes(rootDir)) {
      if (!pods.includes(uid)) continue;
      const unique = uniqueVolumeName(data.driverName, data.volumeHandle);
      touched.add(unique);
      const volume = { name, driver: data.driverName, handle: data.volumeHandle };
      await attempt(unique, () => unmapVolume(this.#host, volume, uid));
    }
    if (touched.size > 0) await this.#unstage(touched, errors);
    if (errors.length > 0) throw errors[0];
  }

  /** Unstages the volumes that no pod uses: those that an earlier kubelet has left, too. */
  async unstageUnused(): Promise<void> {
    const errors: unknown[] = [];
    await this.#unstage(undefined, errors);
    for (const error of errors)
      this.#host.logger.warn('CSI volume not unstaged', { err: error as Error });
  }

  async #afterMount({ pod, volume }: Use, mounted: MountedVolume): Promise<void> {
    try {
      await this.#host.afterMount(pod, volume, mounted);
    } catch (error) {
      const operation = volume.isBlock
        ? 'MapVolume.MarkVolumeAsMounted failed while expanding volume'
        : 'MountVolume.Setup failed while expanding volume';
      throw new CsiOperationError(operation, errorMessage(error), { cause: error });
    }
  }

  #use(pod: Pod, name: string, volume: CsiVolume): Use {
    const uid = podUid(pod);
    const uses = this.#uses.get(uid) ?? new Map<string, Use>();
    this.#uses.set(uid, uses);
    const use = uses.get(name) ?? { volume, pod, mounted: undefined };
    uses.set(name, use);
    return use;
  }

  #isDue({ volume, mounted }: Use): boolean {
    if (mounted === undefined || volume.isBlock) return false;
    const { clock, driverObject } = this.#host;
    if (driverObject(volume.driver)?.spec.requiresRepublish !== true) return false;
    return clock.monotonic() - mounted.at >= REPUBLISH_MS;
  }

  async #attached(
    name: string,
    volume: CsiVolume,
    signal: AbortSignal | undefined,
  ): Promise<Readonly<Record<string, string>>> {
    if (volume.isInline || !needsAttaching(this.#host.driverObject(volume.driver))) return {};
    if (!this.#inUse.has(name)) {
      this.#inUse.set(name, volume.driver);
      this.#host.onVolumesInUse();
    }
    return await waitForAttachment(this.#host, volume, signal);
  }

  async #unpublish({ directory, data }: PublishedVolume): Promise<void> {
    const { mounter, logger, service } = this.#host;
    const path = publishPath(directory);
    if (data === undefined) {
      // No driver is known, so the kubelet does what it can by itself.
      logger.error('CSI volume with a corrupt data file: unmounted without its driver', {
        path: directory,
      });
      for (const target of await mounter.mountsBelow(path)) await mounter.unmount(target);
      await ignoreMissing(rmdir(path));
      await rm(join(directory, DATA_FILE), { force: true });
      return;
    }
    try {
      await service(data.driverName).unpublish(data.volumeHandle, path);
    } catch (error) {
      throw new Error(
        `kubernetes.io/csi: Unmounter.TearDownAt failed: ${errorMessage(error)} ` +
          `(volume "${data.specVolID ?? data.volumeHandle}")`,
        { cause: error },
      );
    }
    await removeVolumeDir(mounter, directory, path);
  }

  /** Unstages the volumes that no pod uses. `only`: their unique names; undefined for all. */
  async #unstage(only: ReadonlySet<string> | undefined, errors: unknown[]): Promise<void> {
    const { rootDir } = this.#host;
    const before = this.#inUse.size;
    const left = new Set<string>();
    const attempt = async (name: string, work: () => Promise<void>): Promise<void> => {
      if (only !== undefined && !only.has(name)) {
        left.add(name);
        return;
      }
      try {
        await this.#mutex.run(name, async () => {
          if (await this.#isUsed(name)) left.add(name);
          else await work();
        });
      } catch (error) {
        left.add(name);
        errors.push(error);
      }
    };
    for (const { data, directory, stagingPath } of await stagedVolumes(rootDir)) {
      await attempt(uniqueVolumeName(data.driverName, data.volumeHandle), async () => {
        const service = this.#host.service(data.driverName);
        if ((await service.capabilities()).has('STAGE_UNSTAGE_VOLUME'))
          await service.unstage(data.volumeHandle, stagingPath);
        await removeVolumeDir(this.#host.mounter, directory, stagingPath);
      });
    }
    for (const { name, data } of await blockVolumes(rootDir)) {
      await attempt(uniqueVolumeName(data.driverName, data.volumeHandle), async () => {
        const paths = blockPaths(rootDir, name);
        const service = this.#host.service(data.driverName);
        if ((await service.capabilities()).has('STAGE_UNSTAGE_VOLUME'))
          await service.unstage(data.volumeHandle, paths.staging);
        await ignoreMissing(rmdir(paths.staging));
        await ignoreMissing(rmdir(paths.publishDir));
        await ignoreMissing(rmdir(join(paths.data, '..', 'dev')));
        await rm(join(paths.data, DATA_FILE), { force: true });
        await ignoreMissing(rmdir(paths.data));
        await ignoreMissing(rmdir(join(paths.data, '..')));
      });
    }
    for (const name of this.#inUse.keys())
      if (!left.has(name) && !(await this.#isUsed(name))) this.#inUse.delete(name);
    if (this.#inUse.size !== before) this.#host.onVolumesInUse();
  }

  #isWanted(name: string): boolean {
    return [...this.#uses.values()].some((uses) => uses.has(name));
  }

  /** Reports whether a pod wants the volume, or has it still mounted. */
  async #isUsed(name: string): Promise<boolean> {
    if (this.#isWanted(name)) return true;
    const { rootDir } = this.#host;
    const isNamed = (data: { driverName: string; volumeHandle: string } | undefined): boolean =>
      data !== undefined && uniqueVolumeName(data.driverName, data.volumeHandle) === name;
    return (
      (await publishedVolumes(rootDir)).some(({ data }) => isNamed(data)) ||
      (await blockVolumes(rootDir)).some(({ data, pods }) => pods.length > 0 && isNamed(data))
    );
  }
}
