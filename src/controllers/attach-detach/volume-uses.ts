// Which pods use which volumes, and where: from the informers' caches alone. A use is a volume of a
// CSI driver, or one that is seen as such, on the node of a pod that names it or its claim.

import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/groups/core/v1/index.ts';
import type { CSIDriver, VolumeAttachment } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import type { Keys } from '../builder.ts';
import { BY_CLAIM, byClaim } from '../pod-claims.ts';
import { BY_NODE, byNode } from '../pods-by-node.ts';
import { asDriverSees, inlineVolumeOf, inlineVolumesOf, isInline } from './migrated-volumes.ts';

type ReadAttachment = Immutable<VolumeAttachment>;
type ReadPod = Immutable<Pod>;
type ReadVolume = Immutable<PersistentVolume>;

const BY_VOLUME = 'volume-name';
const BY_INLINE = 'inline-volume';
/** Pods that name a claim or a volume of a driver; most pods of a large cluster name none. */
const BY_USE = 'uses-volumes';
const USING = 'yes';

/** The indexers that the informer of pods needs. */
export const POD_INDEXERS = {
  [BY_CLAIM]: byClaim,
  [BY_NODE]: byNode,
  [BY_INLINE]: (pod: ReadPod) => inlineVolumesOf(pod).map(({ metadata }) => metadata.name),
  [BY_USE]: (pod: ReadPod) =>
    byClaim(pod).length > 0 || inlineVolumesOf(pod).length > 0 ? [USING] : [],
};

/** The indexers that the informer of attachments needs. */
export const ATTACHMENT_INDEXERS = {
  [BY_NODE]: ({ spec }: ReadAttachment) => [spec.nodeName],
  [BY_VOLUME]: (attachment: ReadAttachment) => [volumeOf(attachment)],
};

export interface VolumeInformers {
  /** With POD_INDEXERS. */
  readonly pods: SharedInformer<ReadPod>;
  readonly claims: SharedInformer<Immutable<PersistentVolumeClaim>>;
  readonly volumes: SharedInformer<ReadVolume>;
  /** With ATTACHMENT_INDEXERS. */
  readonly attachments: SharedInformer<ReadAttachment>;
  readonly drivers: SharedInformer<Immutable<CSIDriver>>;
}

/** Keys are 'node/volume'. */
export class VolumeUses {
  readonly #informers: VolumeInformers;
  /** The last versions of volumes that were deleted while they are still attached to a node. */
  readonly #removed = new Map<string, ReadVolume>();

  constructor(informers: VolumeInformers) {
    this.#informers = informers;
  }

  /** Returns the pods that name a claim or a volume of a driver. */
  pods(): readonly ReadPod[] {
    return this.#informers.pods.lister.byIndex(BY_USE, USING);
  }

  /** Returns the volumes of CSI drivers that the pod uses through claims, or names itself. */
  volumesOf(pod: ReadPod): readonly ReadVolume[] {
    const claimed = byClaim(pod).flatMap((key) => {
      const claim = this.#informers.claims.lister.getByKey(key);
      const volume =
        claim?.spec.volumeName === undefined ? undefined : this.volume(claim.spec.volumeName);
      return volume?.spec.csi === undefined ? [] : [volume];
    });
    return [...claimed, ...inlineVolumesOf(pod)];
  }

  /**
   * Returns the pods that are bound to a node and use the volume, through their claim or by naming
   * the volume.
   */
  podsWith(volume: ReadVolume): readonly ReadPod[] {
    const { pods, claims } = this.#informers;
    const { metadata, spec } = volume;
    if (isInline(volume)) {
      return pods.lister
        .byIndex(BY_INLINE, metadata.name)
        .filter(({ spec: { nodeName } }) => nodeName !== undefined);
    }
    const { namespace = '', name = '', uid } = spec.claimRef ?? {};
    const key = `${namespace}/${name}`;
    const claim = claims.lister.getByKey(key);
    const isBound =
      claim?.status.phase === 'Bound' &&
      claim.metadata.uid === uid &&
      claim.spec.volumeName === metadata.name;
    if (!isBound) return [];
    return pods.lister
      .byIndex(BY_CLAIM, key)
      .filter(({ spec: { nodeName } }) => nodeName !== undefined);
  }

  /**
   * Returns the volume as its CSI driver sees it. A volume without an object exists as long as a
   * pod names it or an attachment for it exists.
   */
  volume(name: string): ReadVolume | undefined {
    const { pods, volumes } = this.#informers;
    const volume = volumes.lister.get('', name);
    if (volume !== undefined) return asDriverSees(volume);
    const [pod] = pods.lister.byIndex(BY_INLINE, name);
    const named =
      pod === undefined
        ? undefined
        : inlineVolumesOf(pod).find(({ metadata }) => metadata.name === name);
    if (named !== undefined) return named;
    const [attachment] = this.attachmentsOf(name);
    return attachment === undefined ? undefined : inlineVolumeOf(attachment);
  }

  /** Returns the volume, or its last version if it was deleted while it is still attached. */
  volumeOrRemoved(name: string): ReadVolume | undefined {
    return this.volume(name) ?? this.#removed.get(name);
  }

  /** Keeps a deleted volume as long as it is attached to a node. */
  removed(deleted: ReadVolume): void {
    const volume = asDriverSees(deleted);
    const { name } = volume.metadata;
    if (this.attachmentsOf(name).length > 0) this.#removed.set(name, volume);
  }

  /** Forgets a deleted volume unless it is still attached to a node. */
  detached(name: string): void {
    if (this.attachmentsOf(name).length === 0) this.#removed.delete(name);
  }

  attachmentsOf(volume: string): readonly ReadAttachment[] {
    return this.#informers.attachments.lister.byIndex(BY_VOLUME, volume);
  }

  attachmentsAt(node: string): readonly ReadAttachment[] {
    return this.#informers.attachments.lister.byIndex(BY_NODE, node);
  }

  needsAttaching(volume: ReadVolume): boolean {
    const { csi } = volume.spec;
    return (
      csi !== undefined &&
      this.#informers.drivers.lister.get('', csi.driver)?.spec.attachRequired !== false
    );
  }

  keysOfPod(pod: ReadPod): readonly string[] {
    const { nodeName } = pod.spec;
    return nodeName === undefined
      ? []
      : this.volumesOf(pod).map(({ metadata }) => `${nodeName}/${metadata.name}`);
  }

  keysOfAttachment(attachment: ReadAttachment): Keys {
    const name = volumeOf(attachment);
    if (name === '') return undefined;
    const volume = this.volume(name);
    return volume === undefined ? `${attachment.spec.nodeName}/${name}` : this.keysOfVolume(volume);
  }

  keysOfDriver(driver: string): readonly string[] {
    const inline = this.pods().flatMap(inlineVolumesOf);
    return [...this.#informers.volumes.lister.list().map(asDriverSees), ...inline]
      .filter(({ spec }) => spec.csi?.driver === driver)
      .flatMap((volume) => this.keysOfVolume(volume));
  }

  /** Returns a key for each node on which the volume is wanted or attached. */
  keysOfVolume(volume: ReadVolume | undefined): readonly string[] {
    if (volume?.spec.csi === undefined) return [];
    const { name } = volume.metadata;
    const wanted = this.podsWith(volume).map(({ spec }) => spec.nodeName);
    const attached = this.attachmentsOf(name).map(({ spec }) => spec.nodeName);
    return [...new Set([...wanted, ...attached])].flatMap((node) =>
      node === undefined ? [] : `${node}/${name}`,
    );
  }

  /** Returns the keys of the volumes that are wanted or attached on the node. */
  keysOfNode(name: string): readonly string[] {
    const attached = this.attachmentsAt(name).map(
      (attachment) => `${name}/${volumeOf(attachment)}`,
    );
    const wanted = this.#informers.pods.lister
      .byIndex(BY_NODE, name)
      .flatMap((pod) => this.keysOfPod(pod));
    return [...attached, ...wanted];
  }
}

/** Returns the volume of an attachment; '' if it is not of a CSI driver. */
export function volumeOf(attachment: ReadAttachment): string {
  return (
    attachment.spec.source.persistentVolumeName ?? inlineVolumeOf(attachment)?.metadata.name ?? ''
  );
}
