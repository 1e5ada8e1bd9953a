// Volumes that are mounted or attached: those of CSI drivers, NFS, iSCSI, FlexVolumes and local ones, as a pod names
// them or as persistent volumes.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { podUid, type Pod, type Volume } from '../types.ts';
import type { PersistentVolume } from './claims.ts';
import { inlineVolume, persistentVolume } from './csi/csi-volume.ts';
import type { CsiVolumes } from './csi/csi-volumes.ts';
import type { CsiVolume } from './csi/host.ts';
import type { FlexVolume, FlexVolumes } from './flex/flex-volumes.ts';
import { checkHostPath } from './host-path.ts';
import { diskOf } from './iscsi/disk.ts';
import type { IscsiVolume, IscsiVolumes } from './iscsi/iscsi-volumes.ts';
import type { LocalVolumes } from './local-mounts.ts';
import { checkLocalDevice } from './local-volumes.ts';
import type { Mounter } from './mounter.ts';
import { mountNfs, type NfsVolume } from './nfs.ts';
import { givePersistentToGroup } from './ownership.ts';

/** The part of CsiVolumes that is used here. */
export type CsiMounts = Pick<CsiVolumes, 'mount' | 'attach' | 'unmount' | 'dueForRepublish'>;

export interface VolumeSourcesConfig {
  readonly rootDir: string;
  readonly mounter: Mounter;
  /** False: nothing is mounted; sources are resolved nevertheless. */
  readonly hostFiles: boolean;
  readonly isReachable: (volume: PersistentVolume) => boolean;
  readonly csi?: CsiMounts;
  readonly secret: (namespace: string, name: string) => Promise<Immutable<v1.Secret>>;
  readonly locals: LocalVolumes;
  readonly disks: IscsiVolumes;
  readonly flex: FlexVolumes;
}

interface IscsiSource {
  readonly iscsi: Immutable<v1.ISCSIVolumeSource> | Immutable<v1.ISCSIPersistentVolumeSource>;
  readonly readOnly: boolean;
  readonly mountOptions: readonly string[];
}

/** The event names the persistent volume, not the volume of the pod. */
export class PersistentVolumeError extends Error {
  readonly volume: string;

  constructor(volume: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.volume = volume;
  }
}

export class VolumeSources {
  readonly #config: VolumeSourcesConfig;

  constructor(config: VolumeSourcesConfig) {
    this.#config = config;
  }

  /**
   * Mounts a volume whose source is in the pod. Resolves with its path; with undefined if the source
   * is none of these.
   */
  async mountInline(
    pod: Pod,
    volume: Volume,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    if (volume.csi !== undefined)
      return await this.#mountCsi(pod, inlineVolume(pod, volume.name, volume.csi), signal);
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
      return await this.#mountIscsi(pod, name, source, signal);
    }
    if (volume.flexVolume !== undefined) {
      const { name, flexVolume: source } = volume;
      const flex = { name, source, readOnly: source.readOnly === true };
      return await this.#mountFlex(pod, flex);
    }
    return undefined;
  }

  /**
   * Mounts a persistent volume, or returns the path of its device. Rejects with
   * PersistentVolumeError.
   */
  async mountPersistent(
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
      return hostFiles ? await this.#config.locals.mount(pod, volume, local, readOnly) : local.path;
    } catch (error) {
      throw new PersistentVolumeError(name, errorMessage(error), { cause: error });
    }
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
    return this.#config.hostFiles ? await this.#config.flex.mount(pod, volume) : '';
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
    const path = await this.#config.disks.mount(podUid(pod), volume, signal);
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
    return await this.#config.disks.map(podUid(pod), volume, signal);
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
