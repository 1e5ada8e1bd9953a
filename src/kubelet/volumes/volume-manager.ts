// The volumes of the pods on this node: creates them before a pod's containers start, updates those
// with API objects, and deletes them with the pod. They are in
// <root>/pods/<uid>/volumes/kubernetes.io~<plugin>/<name>.

import { chmod, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { removeTree } from '#machinery/files/directory.ts';
import type { Logger } from '#machinery/log.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { podDir, subpathsDir } from '../paths.ts';
import { podLimits } from '../pod/resources.ts';
import { podUid, type Pod, type Volume } from '../types.ts';
import { writeAtomically } from './atomic-writer.ts';
import {
  claimedVolume,
  ClaimError,
  claimNameOf,
  type ClaimSource,
  type PersistentVolume,
} from './claims.ts';
import { inlineVolume, persistentVolume } from './csi/csi-volume.ts';
import type { CsiVolumes } from './csi/csi-volumes.ts';
import type { GrowableVolume } from './csi/expander.ts';
import {
  AttachLimitError,
  CsiOperationError,
  type CsiVolume,
  UnattachedError,
} from './csi/host.ts';
import { checkHostPath } from './host-path.ts';
import { LocalVolumes, type MountedGrowable } from './local-mounts.ts';
import { checkLocalDevice } from './local-volumes.ts';
import { isMounted, type Mounter } from './mounter.ts';
import { type FlexVolume, FlexVolumes } from './flex/flex-volumes.ts';
import { diskOf } from './iscsi/disk.ts';
import { type IscsiVolume, IscsiVolumes } from './iscsi/iscsi-volumes.ts';
import { type IscsiSystem, iscsiSystem } from './iscsi/system.ts';
import { mountNfs, type NfsVolume } from './nfs.ts';
import { givePersistentToGroup, setVolumeGroup } from './ownership.ts';
import { volumePayload, type PayloadContext } from './payload.ts';
import { pluginNameOf, VolumeCounts } from './volume-counts.ts';
import { VolumeGroups } from './volume-groups.ts';

export interface VolumeFailure {
  readonly volume: string;
  readonly message: string;
  /** The operation that failed. Default: 'MountVolume.SetUp failed'. */
  readonly operation?: string;
}

/** An event about failed volumes. */
export interface VolumeEvent {
  readonly reason: 'FailedMount' | 'FailedMapVolume';
  readonly message: string;
}

/** The failed volumes of a pod, with the reasons. */
export class VolumeError extends Error {
  readonly failures: readonly VolumeFailure[];
  /** The volumes that are not available yet, by their name in the pod. */
  readonly unclaimed: readonly VolumeFailure[];
  /** The volumes that are not attached to the node yet, by their name in the pod. */
  readonly unattached: readonly VolumeFailure[];
  /** Whether a volume is not attached because the node has as many volumes as it can have. */
  readonly isLimitExceeded: boolean;

  constructor(
    failures: readonly VolumeFailure[],
    unclaimed: readonly VolumeFailure[] = [],
    unattached: readonly VolumeFailure[] = [],
    isLimitExceeded = false,
  ) {
    super(
      [...failures, ...unclaimed, ...unattached]
        .map(({ volume, message }) => `volume "${volume}": ${message}`)
        .join(', '),
    );
    this.name = 'VolumeError';
    this.failures = failures;
    this.unclaimed = unclaimed;
    this.unattached = unattached;
    this.isLimitExceeded = isLimitExceeded;
  }

  /** The events to record. */
  get events(): readonly VolumeEvent[] {
    const own = this.failures.map(
      ({ volume, message, operation = 'MountVolume.SetUp failed' }): VolumeEvent => ({
        reason: operation.startsWith('MapVolume.') ? 'FailedMapVolume' : 'FailedMount',
        message: message.startsWith('MountVolume.')
          ? message
          : `${operation} for volume "${volume}" : ${message}`,
      }),
    );
    const { unmounted } = this;
    if (unmounted === undefined) return own;
    const message = `Unable to attach or mount volumes: ${unmounted}`;
    return [...own, { reason: 'FailedMount', message }];
  }

  /** Why volumes are neither mounted nor failed; undefined if there are none. */
  get unmounted(): string | undefined {
    if (this.unclaimed.length + this.unattached.length === 0) return undefined;
    const names = (failures: readonly VolumeFailure[]): string =>
      failures.map(({ volume }) => volume).join(' ');
    const unmounted = [...this.unclaimed, ...this.unattached];
    const why = [...new Set(unmounted.map(({ message }) => message))].join('; ');
    const which =
      `unmounted volumes=[${names(unmounted)}], unattached volumes=[${names(this.unattached)}], ` +
      `failed to process volumes=[${names(this.unclaimed)}]`;
    return `${which}: ${why}`;
  }

  /** The messages of the events. */
  get messages(): readonly string[] {
    return this.events.map(({ message }) => message);
  }
}

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

/** The part of CsiVolumes that is used here. */
export type CsiMounts = Pick<CsiVolumes, 'mount' | 'attach' | 'unmount' | 'dueForRepublish'>;

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
  /** The volumes by plugin, for metrics. */
  readonly counts = new VolumeCounts();
  /** The groups that volumes give to the processes of pods. */
  readonly groups = new VolumeGroups();

  constructor(config: VolumeManagerConfig) {
    this.#config = config;
    this.#locals = new LocalVolumes(config);
    this.#flex = new FlexVolumes(config);
    this.#disks = new IscsiVolumes({ ...config, system: config.iscsi ?? iscsiSystem });
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
    if (volume.csi !== undefined)
      return await this.#mountCsi(pod, inlineVolume(pod, volume.name, volume.csi), context.signal);
    if (volume.nfs !== undefined) {
      const { name, nfs: source } = volume;
      return await this.#mountNfs(pod, {
        name,
        source,
        readOnly: source.readOnly === true,
        mountOptions: [],
      });
    }
    if (volume.iscsi !== undefined) {
      const { name, iscsi } = volume;
      const source = { iscsi, readOnly: iscsi.readOnly === true, mountOptions: [] };
      return await this.#mountIscsi(pod, name, source, context.signal);
    }
    if (volume.flexVolume !== undefined) {
      const { name, flexVolume: source } = volume;
      const flex = { name, source, readOnly: source.readOnly === true };
      return await this.#mountFlex(pod, flex);
    }
    const plugin = pluginOf(volume);
    if (plugin === 'image') return '';
    if (plugin === 'host-path') {
      const path = volume.hostPath?.path ?? '';
      if (hostFiles) await checkHostPath(path, volume.hostPath?.type ?? '');
      return path;
    }
    const directory = volumeDir(this.#config.rootDir, podUid(pod), plugin, volume.name);
    const payload = await volumePayload(pod, volume, context);
    if (!hostFiles) return directory;
    if (plugin === 'empty-dir') await this.#setUpEmptyDir(pod, volume, directory);
    else if (payload !== undefined) {
      await mkdir(directory, { recursive: true, mode: 0o755 });
      // Secrets are kept in memory if possible.
      if (plugin === 'secret' || plugin === 'projected')
        await this.#ensureTmpfs(directory, { mode: 0o1777 });
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
    const path = await this.#setUpPersistent(pod, claimed.volume, claimed.readOnly, signal);
    this.groups.mounted(uid, volume.name, claimed.volume);
    // CSI volumes have their own memory, because some are published repeatedly.
    if (claimed.volume.spec.csi === undefined)
      this.#claimed.set(uid, present.set(volume.name, path));
    return path;
  }

  async #mountCsi(pod: Pod, volume: CsiVolume, signal: AbortSignal | undefined): Promise<string> {
    const { csi, hostFiles } = this.#config;
    if (csi === undefined) throw new Error('no volume plugin matched: this kubelet has no CSI');
    if (hostFiles) return await csi.mount(pod, volume, signal);
    await csi.attach(volume, signal);
    return '';
  }

  async #mountNfs(pod: Pod, volume: NfsVolume): Promise<string> {
    const { hostFiles, mounter, rootDir } = this.#config;
    return hostFiles ? await mountNfs(mounter, rootDir, podUid(pod), volume) : '';
  }

  async #mountFlex(pod: Pod, volume: FlexVolume): Promise<string> {
    return this.#config.hostFiles ? await this.#flex.mount(pod, volume) : '';
  }

  async #mountIscsi(
    pod: Pod,
    name: string,
    { iscsi, readOnly, mountOptions }: IscsiSource,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    if (!this.#config.hostFiles) return '';
    const volume: IscsiVolume = {
      disk: diskOf(name, iscsi),
      fsType: iscsi.fsType,
      readOnly,
      mountOptions,
      secret: await this.#chapSecret(pod, iscsi),
    };
    const path = await this.#disks.mount(podUid(pod), volume, signal);
    if (!readOnly) await givePersistentToGroup(pod, path);
    return path;
  }

  async #mapIscsi(
    pod: Pod,
    name: string,
    iscsi: IscsiSource['iscsi'],
    signal: AbortSignal | undefined,
  ): Promise<string> {
    if (!this.#config.hostFiles) return '';
    const volume = { disk: diskOf(name, iscsi), secret: await this.#chapSecret(pod, iscsi) };
    return await this.#disks.map(podUid(pod), volume, signal);
  }

  /** Returns the credentials of an iSCSI volume; none if it does not authenticate. */
  async #chapSecret(
    pod: Pod,
    { secretRef, chapAuthDiscovery, chapAuthSession }: IscsiSource['iscsi'],
  ): Promise<Readonly<Record<string, string>>> {
    if (chapAuthDiscovery !== true && chapAuthSession !== true) return {};
    const name = secretRef?.name ?? '';
    if (name === '') throw new Error('CHAP enabled but secret name or namespace is empty');
    const own = pod.metadata.namespace ?? '';
    const namespace =
      secretRef !== undefined && 'namespace' in secretRef ? secretRef.namespace : own;
    const { data = {} } = await this.#config.secret(namespace || own, name);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [
        key,
        Buffer.from(value, 'base64').toString('utf8'),
      ]),
    );
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

  async #setUpPersistent(
    pod: Pod,
    volume: PersistentVolume,
    readOnly: boolean,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const { hostFiles, isReachable } = this.#config;
    const { name } = volume.metadata;
    const { hostPath, local, csi, nfs, iscsi, flexVolume: source } = volume.spec;
    if (!isReachable(volume)) {
      const what = `MountVolume.NodeAffinity check failed for volume "${name}"`;
      throw new PersistentVolumeError(name, `${what} : no matching NodeSelectorTerms`);
    }
    try {
      if (csi !== undefined)
        return await this.#mountCsi(pod, persistentVolume(volume, csi, readOnly), signal);
      if (volume.spec.volumeMode === 'Block') {
        if (iscsi !== undefined) return await this.#mapIscsi(pod, name, iscsi, signal);
        if (local === undefined)
          throw new Error(
            'block devices are supported for volumes of types csi, iscsi and local only',
          );
        if (hostFiles) await checkLocalDevice(local.path);
        return local.path;
      }
      if (nfs !== undefined) {
        const mountOptions = mountOptionsOf(volume);
        // The volume's own readOnly does not count, as upstream.
        return await this.#mountNfs(pod, { name, source: nfs, readOnly, mountOptions });
      }
      if (iscsi !== undefined) {
        const mountOptions = mountOptionsOf(volume);
        return await this.#mountIscsi(pod, name, { iscsi, readOnly, mountOptions }, signal);
      }
      if (source !== undefined) {
        const flex = { name, source, readOnly: readOnly || source.readOnly === true };
        return await this.#mountFlex(pod, flex);
      }
      if (hostPath !== undefined) {
        if (hostFiles) await checkHostPath(hostPath.path, hostPath.type ?? '');
        return hostPath.path;
      }
      if (local === undefined) throw new Error(`no volume plugin matched: ${kindOf(volume.spec)}`);
      return hostFiles ? await this.#locals.mount(pod, volume, local, readOnly) : local.path;
    } catch (error) {
      throw new PersistentVolumeError(name, errorMessage(error), { cause: error });
    }
  }

  async #setUpEmptyDir(pod: Pod, volume: Volume, directory: string): Promise<void> {
    await mkdir(directory, { recursive: true });
    const medium = volume.emptyDir?.medium ?? '';
    if (medium === 'Memory') {
      const { mounter } = this.#config;
      if (!mounter.available)
        throw new Error(
          'emptyDir with medium "Memory" takes a mount, which this kubelet may not make: it takes root on Linux',
        );
      const sizeBytes = memorySize(pod, volume);
      await this.#ensureTmpfs(directory, {
        mode: 0o1777,
        ...(sizeBytes !== undefined ? { sizeBytes } : {}),
      });
    } else if (medium !== '') throw new Error(`unknown storage medium "${medium}"`);
    // The set-group-ID bit of an earlier sync stays: containers may be looking at it.
    if (((await stat(directory)).mode & 0o777) !== 0o777) await chmod(directory, 0o777);
    const group = pod.spec.securityContext?.fsGroup;
    if (group !== undefined) await setVolumeGroup(directory, group, false);
  }

  async #ensureTmpfs(
    directory: string,
    options: { readonly sizeBytes?: number; readonly mode: number },
  ): Promise<void> {
    const { mounter } = this.#config;
    if (!mounter.available) return;
    if (await isMounted(mounter, directory)) return;
    await mounter.tmpfs(directory, options);
  }
}

interface IscsiSource {
  readonly iscsi: Immutable<v1.ISCSIVolumeSource> | Immutable<v1.ISCSIPersistentVolumeSource>;
  readonly readOnly: boolean;
  readonly mountOptions: readonly string[];
}

/** The event names the persistent volume, not the volume of the pod. */
class PersistentVolumeError extends Error {
  readonly volume: string;

  constructor(volume: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.volume = volume;
  }
}

/** Returns the options of a persistent volume: those of the beta annotation come first. */
function mountOptionsOf({ metadata, spec }: PersistentVolume): readonly string[] {
  const beta = metadata.annotations?.['volume.beta.kubernetes.io/mount-options'];
  return (beta === undefined ? (spec.mountOptions ?? []) : beta.split(',')).filter(
    (option) => option !== '',
  );
}

const SETTINGS: ReadonlySet<string> = new Set([
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
  'volumeAttributesClassName',
]);

function kindOf(spec: PersistentVolume['spec']): string {
  const kind = Object.keys(spec).find((key) => !SETTINGS.has(key)) ?? 'none';
  return `persistent volumes of type ${kind} are not supported by this kubelet`;
}

/** Returns the lower one of the volume's own limit and the sum of the containers' memory limits. */
function memorySize(pod: Pod, volume: Volume): number | undefined {
  const limit = volume.emptyDir?.sizeLimit;
  const own = limit === undefined ? 0 : parseQuantity(limit).value();
  const everyLimited = pod.spec.containers.every(
    (container) => container.resources?.limits?.['memory'] !== undefined,
  );
  const pods = everyLimited ? (podLimits(pod).get('memory') ?? 0) : 0;
  const bounds = [own, pods].filter((bytes) => bytes > 0);
  return bounds.length === 0 ? undefined : Math.min(...bounds);
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
