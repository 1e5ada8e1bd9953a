// FlexVolumes: volumes that a program of this machine mounts and unmounts. Drivers that attach volumes
// to nodes first are refused by name: nothing attaches for them.

import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { namesIn } from '#machinery/files/names-in.ts';
import { podDir } from '../../paths.ts';
import { podUid, type Pod } from '../../types.ts';
import { isMounted, type Mounter } from '../mounter.ts';
import { givePersistentToGroup } from '../ownership.ts';
import { escapedName, FLEX_VOLUME_DIR, FlexDriver, NotSupportedError } from './driver.ts';

type Source = Immutable<v1.FlexVolumeSource> | Immutable<v1.FlexPersistentVolumeSource>;

export interface FlexVolume {
  /** The name of the pod's volume, or of the persistent volume. */
  readonly name: string;
  readonly source: Source;
  readonly readOnly: boolean;
}

export interface FlexVolumesConfig {
  readonly rootDir: string;
  readonly mounter: Mounter;
  readonly secret: (namespace: string, name: string) => Promise<Immutable<v1.Secret>>;
  /** The directory of drivers. Default: upstream's. */
  readonly flexVolumeDir?: string;
}

/** Directories of the kubelet's own kinds of volumes. */
const OWN = 'kubernetes.io~';

export class FlexVolumes {
  readonly #config: FlexVolumesConfig;

  constructor(config: FlexVolumesConfig) {
    this.#config = config;
  }

  /** Mounts the volume for a pod, and returns the path. Idempotent. Rejects with the reason. */
  async mount(pod: Pod, { name, source, readOnly }: FlexVolume): Promise<string> {
    const { rootDir, mounter } = this.#config;
    const escaped = escapedName(source.driver);
    const target = join(podDir(rootDir, podUid(pod)), 'volumes', escaped, name);
    if (await isMounted(mounter, target)) return target;
    const driver = this.#driver(escaped);
    const { attach, fsGroup } = await driver.init();
    if (attach)
      throw new Error(
        `FlexVolume driver ${source.driver} attaches volumes, which this cluster does not do for ` +
          'it: only drivers with {"attach": false} are supported',
      );
    const options = await this.#options(pod, name, source, readOnly);
    await mkdir(target, { recursive: true, mode: 0o750 });
    try {
      await driver.mount(target, options);
    } catch (error) {
      // The directory marks nothing, unlike that of a volume that has to be unmounted.
      if (!(await isMounted(mounter, target))) await rmdir(target).catch(() => undefined);
      throw error;
    }
    if (!readOnly && fsGroup) await givePersistentToGroup(pod, target);
    return target;
  }

  /** Lets the drivers unmount all volumes of a pod. Rejects if one cannot. */
  async unmount(uid: string): Promise<void> {
    const { rootDir, mounter } = this.#config;
    const volumes = join(podDir(rootDir, uid), 'volumes');
    for (const escaped of await namesIn(volumes)) {
      if (escaped.startsWith(OWN)) continue;
      const driver = this.#driver(escaped);
      for (const name of await namesIn(join(volumes, escaped))) {
        const target = join(volumes, escaped, name);
        try {
          await driver.unmount(target);
        } catch (error) {
          if (!(error instanceof NotSupportedError)) throw error;
          if (await isMounted(mounter, target)) await mounter.unmount(target);
        }
      }
    }
  }

  #driver(escaped: string): FlexDriver {
    return new FlexDriver(this.#config.flexVolumeDir ?? FLEX_VOLUME_DIR, escaped);
  }

  /** Returns upstream's options; those of the volume replace others of the same name. */
  async #options(
    pod: Pod,
    name: string,
    source: Source,
    readOnly: boolean,
  ): Promise<Readonly<Record<string, string>>> {
    const { securityContext, serviceAccountName = '' } = pod.spec;
    const group = securityContext?.fsGroup;
    return {
      'kubernetes.io/fsType': source.fsType ?? '',
      'kubernetes.io/readwrite': readOnly ? 'ro' : 'rw',
      'kubernetes.io/pvOrVolumeName': name,
      'kubernetes.io/pod.name': pod.metadata.name ?? '',
      'kubernetes.io/pod.namespace': pod.metadata.namespace ?? '',
      'kubernetes.io/pod.uid': podUid(pod),
      'kubernetes.io/serviceAccount.name': serviceAccountName,
      ...(await this.#secretOptions(pod, source)),
      ...(group !== undefined && { 'kubernetes.io/mounterArgs.FsGroup': String(group) }),
      ...source.options,
    };
  }

  /** The values of the volume's secret, in base64. Its type has to be the driver's name. */
  async #secretOptions(
    pod: Pod,
    { secretRef, driver }: Source,
  ): Promise<Readonly<Record<string, string>>> {
    const name = secretRef?.name ?? '';
    if (name === '') return {};
    const own = pod.metadata.namespace ?? '';
    const namespace =
      (secretRef !== undefined && 'namespace' in secretRef ? secretRef.namespace : own) || own;
    const { type, data = {} } = await this.#config.secret(namespace, name);
    if (type !== driver)
      throw new Error(
        `couldn't get secret ${namespace}/${name} err: cannot get secret of type ${driver}`,
      );
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [`kubernetes.io/secret/${key}`, value]),
    );
  }
}
