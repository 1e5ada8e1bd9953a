// The volumes of the pods on this node: creates them before a pod's containers start, updates those
// with API objects, and deletes them with the pod. They are in
// <root>/pods/<uid>/volumes/kubernetes.io~<plugin>/<name>.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { removeTree } from '#machinery/files/directory.ts';
import type { Logger } from '#machinery/log.ts';
import { podDir, subpathsDir } from '../paths.ts';
import { podUid, type Pod, type Volume } from '../types.ts';
import { writeAtomically } from './atomic-writer.ts';
import {
  claimedVolume,
  ClaimError,
  claimNameOf,
  type ClaimSource,
  type PersistentVolume,
} from './claims.ts';
import type { GrowableVolume } from './csi/expander.ts';
import { AttachLimitError, CsiOperationError, UnattachedError } from './csi/host.ts';
import { ensureTmpfs, setUpEmptyDir } from './empty-dir.ts';
import { FlexVolumes } from './flex/flex-volumes.ts';
import { checkHostPath } from './host-path.ts';
import { IscsiVolumes } from './iscsi/iscsi-volumes.ts';
import { type IscsiSystem, iscsiSystem } from './iscsi/system.ts';
import { LocalVolumes, type MountedGrowable } from './local-mounts.ts';
import type { Mounter } from './mounter.ts';
import { setVolumeGroup } from './ownership.ts';
import { volumePayload, type PayloadContext } from './payload.ts';
import { pluginNameOf, VolumeCounts } from './volume-counts.ts';
import { VolumeError, type VolumeFailure } from './volume-error.ts';
import { type CsiMounts, PersistentVolumeError, VolumeSources } from './volume-sources.ts';
import { VolumeGroups } from './volume-groups.ts';

export interface VolumeManagerConfig {
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mounter: Mounter;
  /**
   * False: no files are written or mounted (see KubeletConfig.hostFiles); sources are resolved
   * nevertheless.
   */
  readonly hostFiles: boolean;
  readonly claims: ClaimSource;
  /** The directory with the volumes of the built-in provisioner. */
  readonly localVolumesDir: string;
  /** Reports whether this node can reach a persistent volume. */
  readonly isReachable: (volume: PersistentVolume) => boolean;
  /** Mounts volumes of CSI drivers. Absent: this kubelet has none. */
  readonly csi?: CsiMounts;
  /** Reads a secret from the API, for volumes that authenticate themselves. */
  readonly secret: (namespace: string, name: string) => Promise<Immutable<v1.Secret>>;
  /** The directory of drivers of FlexVolumes. Default: upstream's. */
  readonly flexVolumeDir?: string;
  /** Default: this machine. */
  readonly iscsi?: IscsiSystem;
  /** Grows a volume that has been mounted, if its claim waits for that. Absent: none can grow. */
  readonly grow?: (pod: Pod, volume: GrowableVolume) => Promise<void>;
}

/**
 * The path of each volume of a pod on this node, by the volume's name; empty for images, which the
 * runtime mounts.
 */
export type VolumePaths = ReadonlyMap<string, string>;

type Plugin =
  | 'empty-dir'
  | 'host-path'
  | 'image'
  | 'configmap'
  | 'secret'
  | 'downward-api'
  | 'projected';

export class VolumeManager {
  readonly #config: VolumeManagerConfig;
  /** By the pod's UID: the paths of mounted volumes. */
  readonly #mounted = new Map<string, VolumePaths>();
  /** UIDs of pods with changed objects since their volumes were written. */
  readonly #stale = new Set<string>();
  /** By pod: the paths of its claims' volumes, which are resolved once. */
  readonly #claimed = new Map<string, Map<string, string>>();
  readonly #locals: LocalVolumes;
  readonly #disks: IscsiVolumes;
  readonly #flex: FlexVolumes;
  readonly #sources: VolumeSources;
  /** The volumes by plugin, for metrics. */
  readonly counts = new VolumeCounts();
  /** The groups that volumes give to the processes of pods. */
  readonly groups = new VolumeGroups();

  constructor(config: VolumeManagerConfig) {
    this.#config = config;
    this.#locals = new LocalVolumes(config);
    this.#flex = new FlexVolumes(config);
    this.#disks = new IscsiVolumes({ ...config, system: config.iscsi ?? iscsiSystem });
    const [locals, disks, flex] = [this.#locals, this.#disks, this.#flex];
    this.#sources = new VolumeSources({ ...config, locals, disks, flex });
  }

  /**
   * Creates missing volumes that containers use, and rewrites volumes whose sources have changed.
   * Rejects with VolumeError; successful volumes stay.
   */
  async mount(pod: Pod, context: PayloadContext): Promise<VolumePaths> {
    const uid = podUid(pod);
    const made = this.#mounted.get(uid);
    if (made !== undefined && !this.#stale.has(uid)) return made;
    this.#stale.delete(uid);
    const used = usedVolumes(pod);
    const paths = new Map<string, string>();
    const failures: VolumeFailure[] = [];
    const unclaimed: VolumeFailure[] = [];
    const unattached: VolumeFailure[] = [];
    let isLimitExceeded = false;
    for (const volume of pod.spec.volumes ?? []) {
      const use = used.get(volume.name);
      if (use === undefined) continue;
      try {
        paths.set(volume.name, await this.#setUp(pod, volume, context, use === 'device'));
        this.counts.mounted(uid, volume.name);
      } catch (error) {
        context.signal?.throwIfAborted();
        const message = errorMessage(error);
        const isPersistent = error instanceof PersistentVolumeError;
        const cause = isPersistent ? error.cause : error;
        if (cause instanceof AttachLimitError) isLimitExceeded = true;
        if (error instanceof ClaimError) unclaimed.push({ volume: volume.name, message });
        else if (cause instanceof UnattachedError)
          unattached.push({ volume: volume.name, message });
        else {
          failures.push({
            volume: isPersistent ? error.volume : volume.name,
            message,
            ...(cause instanceof CsiOperationError && { operation: cause.operation }),
          });
        }
      }
    }
    if (failures.length + unclaimed.length + unattached.length > 0) {
      this.#stale.add(uid);
      throw new VolumeError(failures, unclaimed, unattached, isLimitExceeded);
    }
    this.#mounted.set(uid, paths);
    return paths;
  }

  /** Marks the content of the pod's volumes as stale: the next `mount` writes it again. */
  markStale(uid: string): void {
    if (this.#mounted.has(uid)) this.#stale.add(uid);
  }

  /** Unmounts the pod's volumes and deletes its directory. */
  async unmount(uid: string): Promise<void> {
    this.#mounted.delete(uid);
    this.#claimed.delete(uid);
    this.groups.forget(uid);
    this.#locals.forget(uid);
    this.#stale.delete(uid);
    this.counts.unwant(uid);
    if (this.#config.hostFiles) await this.#unmountAll(uid);
    this.counts.unmounted(uid);
  }

  async #unmountAll(uid: string): Promise<void> {
    const { mounter, rootDir, csi } = this.#config;
    const directory = podDir(rootDir, uid);
    // Parts of volumes go first: they keep the volumes busy.
    for (const target of await mounter.mountsBelow(subpathsDir(rootDir, uid)))
      await mounter.unmount(target);
    await csi?.unmount(uid);
    await this.#flex.unmount(uid);
    for (const target of await mounter.mountsBelow(directory)) await mounter.unmount(target);
    // Deleting would empty a file system that is still mounted, so the directory is left for the
    // next attempt.
    const left = await mounter.mountsBelow(directory);
    if (left.length > 0) throw new Error(`still mounted: ${left.join(', ')}`);
    await this.#disks.beforeRemoval(uid);
    await removeTree(directory);
    await this.#locals.unmountUnused();
    await this.#disks.unmountUnused(uid);
  }

  /** Returns the UIDs of pods with volumes that drivers want to publish again. */
  dueForRepublish(): readonly string[] {
    return this.#config.csi?.dueForRepublish() ?? [];
  }

  async #setUp(
    pod: Pod,
    volume: Volume,
    context: PayloadContext,
    isDevice: boolean,
  ): Promise<string> {
    const { hostFiles } = this.#config;
    const claim = claimNameOf(pod, volume);
    if (claim !== undefined)
      return await this.#setUpClaimed(pod, volume, claim, isDevice, context.signal);
    this.counts.want(podUid(pod), volume.name, pluginNameOf(volume));
    if (isDevice)
      throw new Error(
        `volume ${volume.name} is specified in volumeDevices, but only claims can be devices`,
      );
    const path = await this.#sources.mountInline(pod, volume, context.signal);
    if (path !== undefined) return path;
    const plugin = pluginOf(volume);
    if (plugin === 'image') return '';
    if (plugin === 'host-path') {
      const hostPath = volume.hostPath?.path ?? '';
      if (hostFiles) await checkHostPath(hostPath, volume.hostPath?.type ?? '');
      return hostPath;
    }
    const directory = volumeDir(this.#config.rootDir, podUid(pod), plugin, volume.name);
    const payload = await volumePayload(pod, volume, context);
    if (!hostFiles) return directory;
    if (plugin === 'empty-dir') await setUpEmptyDir(this.#config.mounter, pod, volume, directory);
    else if (payload !== undefined) {
      await mkdir(directory, { recursive: true, mode: 0o755 });
      // Secrets are kept in memory if possible.
      if (plugin === 'secret' || plugin === 'projected')
        await ensureTmpfs(this.#config.mounter, directory, { mode: 0o1777 });
      const stamp = new Date(this.#config.clock.now())
        .toISOString()
        .slice(0, 19)
        .replace(/[-:T]/g, '_');
      const group = pod.spec.securityContext?.fsGroup;
      await writeAtomically({
        directory,
        payload,
        stamp,
        ...(group !== undefined && {
          setPermissions: () => setVolumeGroup(directory, group, true),
        }),
      });
    }
    return directory;
  }

  async #setUpClaimed(
    pod: Pod,
    volume: Volume,
    claimName: string,
    isDevice: boolean,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const uid = podUid(pod);
    const present = this.#claimed.get(uid) ?? new Map<string, string>();
    const known = present.get(volume.name);
    if (known !== undefined) return known;
    const claimed = await claimedVolume(pod, volume, claimName, this.#config.claims, isDevice);
    this.counts.want(uid, volume.name, pluginNameOf(claimed.volume.spec));
    const path = await this.#sources.mountPersistent(pod, claimed.volume, claimed.readOnly, signal);
    this.groups.mounted(uid, volume.name, claimed.volume);
    // CSI volumes have their own memory, because some are published repeatedly.
    if (claimed.volume.spec.csi === undefined)
      this.#claimed.set(uid, present.set(volume.name, path));
    return path;
  }

  /** Returns the paths of the pod's mounted volumes; undefined before all of them are mounted. */
  mountedVolumes(uid: string): VolumePaths | undefined {
    return this.#mounted.get(uid);
  }

  /** Reports whether the path is that of a local volume of a claim. */
  isLocalVolume(uid: string, path: string): boolean {
    return this.#locals.isMounted(uid, path);
  }

  /** Returns the mounted volumes that this kubelet grows, without those of CSI drivers. */
  get growable(): readonly MountedGrowable[] {
    return this.#locals.growable;
  }

  /** Reports whether a pod on this node uses a volume at this path. */
  usesPath(path: string): boolean {
    return [...this.#claimed.values()].some((paths) => [...paths.values()].includes(path));
  }
}

function pluginOf(volume: Volume): Plugin {
  if (volume.emptyDir !== undefined) return 'empty-dir';
  if (volume.hostPath !== undefined) return 'host-path';
  if (volume.configMap !== undefined) return 'configmap';
  if (volume.secret !== undefined) return 'secret';
  if (volume.downwardAPI !== undefined) return 'downward-api';
  if (volume.projected !== undefined) return 'projected';
  if (volume.image !== undefined) return 'image';
  const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'none';
  throw new Error(
    `no volume plugin matched: volumes of type ${kind} are not supported by this kubelet`,
  );
}

/**
 * Returns the volumes that containers use, by name, and how; others are not created. A volume in
 * both lists counts as mounted.
 */
function usedVolumes(pod: Pod): ReadonlyMap<string, 'mount' | 'device'> {
  const containers = [
    ...pod.spec.containers,
    ...(pod.spec.initContainers ?? []),
    ...(pod.spec.ephemeralContainers ?? []),
  ];
  const used = new Map<string, 'mount' | 'device'>();
  for (const { volumeDevices } of containers)
    for (const { name } of volumeDevices ?? []) used.set(name, 'device');
  for (const { volumeMounts } of containers)
    for (const { name } of volumeMounts ?? []) used.set(name, 'mount');
  return used;
}

function volumeDir(rootDir: string, uid: string, plugin: Plugin, name: string): string {
  return join(podDir(rootDir, uid), 'volumes', `kubernetes.io~${plugin}`, name);
}
