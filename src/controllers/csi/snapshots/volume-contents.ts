// The contents of snapshots of one volume: how a driver takes, finds and deletes their snapshots.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Lister } from '#client/informers/index.ts';
import type { CsiMessage } from '#csi/schema.ts';
import type { CsiControllerService } from '../csi-controller-service.ts';
import { driverParameters, nanoseconds, type SecretAnnotations } from './content-parts.ts';
import type { ContentKind, Secrets } from './content-reconciler.ts';
import { isMemberContent } from './group-names.ts';
import {
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
} from './resources.ts';

type Content = Immutable<VolumeSnapshotContent>;

export const SNAPSHOT_SECRET: SecretAnnotations = {
  name: 'snapshot.storage.kubernetes.io/deletion-secret-name',
  namespace: 'snapshot.storage.kubernetes.io/deletion-secret-namespace',
};
export const CONTENT_PROTECTION =
  'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection';

export class VolumeContents implements ContentKind<Content> {
  readonly type = volumeSnapshotContents;
  readonly noun = 'snapshot';
  readonly reasonPrefix = 'Snapshot';
  readonly finalizer = CONTENT_PROTECTION;
  readonly secret = SNAPSHOT_SECRET;
  readonly #service: CsiControllerService;
  readonly #snapshots: Lister<Immutable<VolumeSnapshot>>;
  readonly #classes: Lister<Immutable<VolumeSnapshotClass>>;

  constructor(
    service: CsiControllerService,
    snapshots: Lister<Immutable<VolumeSnapshot>>,
    classes: Lister<Immutable<VolumeSnapshotClass>>,
  ) {
    this.#service = service;
    this.#snapshots = snapshots;
    this.#classes = classes;
  }

  givenHandle({ spec }: Content): string | undefined {
    return spec.source.snapshotHandle;
  }

  async exists(snapshotId: string): Promise<boolean> {
    return (await this.#service.listSnapshots({ snapshotId })).entries.length > 0;
  }

  ownerOf({ spec: { volumeSnapshotRef: ref } }: Content): Immutable<VolumeSnapshot> | undefined {
    const snapshot = this.#snapshots.get(ref.namespace ?? '', ref.name ?? '');
    return snapshot?.metadata.uid === ref.uid ? snapshot : undefined;
  }

  /** The status of a group's content is written with the group. */
  isFilled(content: Content): boolean {
    return !isMemberContent(content);
  }

  async fill(
    { spec }: Content,
    secrets: Secrets,
  ): Promise<NonNullable<Content['status']> & { readyToUse: boolean }> {
    const snapshot = await this.#snapshotOf(spec, secrets);
    if (snapshot === undefined || snapshot.snapshotId === '')
      throw new Error('the driver has no such snapshot');
    return {
      snapshotHandle: snapshot.snapshotId,
      creationTime: nanoseconds(snapshot.creationTime),
      readyToUse: snapshot.readyToUse,
      restoreSize: snapshot.sizeBytes,
      ...(snapshot.groupSnapshotId !== '' && {
        volumeGroupSnapshotHandle: snapshot.groupSnapshotId,
      }),
    };
  }

  async #snapshotOf(
    { source, volumeSnapshotRef: ref, volumeSnapshotClassName = '' }: Content['spec'],
    secrets: Secrets,
  ): Promise<CsiMessage<'Snapshot'> | undefined> {
    if (source.volumeHandle === undefined) {
      const snapshotId = source.snapshotHandle ?? '';
      return (await this.#service.listSnapshots({ snapshotId, secrets })).entries[0]?.snapshot;
    }
    const { snapshot } = await this.#service.createSnapshot({
      name: `snapshot-${ref.uid ?? ''}`,
      sourceVolumeId: source.volumeHandle,
      parameters: driverParameters(this.#classes.get('', volumeSnapshotClassName)?.parameters),
      secrets,
    });
    return snapshot;
  }

  /** The driver deletes the snapshots of a group with the group. */
  async delete(content: Content, secrets: () => Promise<Secrets>): Promise<void> {
    const snapshotId = content.status?.snapshotHandle ?? content.spec.source.snapshotHandle;
    // The snapshot of a content that an administrator made may be part of a group, too.
    const isOfGroup =
      isMemberContent(content) || content.status?.volumeGroupSnapshotHandle !== undefined;
    if (snapshotId === undefined || isOfGroup) return;
    await this.#service.deleteSnapshot({ snapshotId, secrets: await secrets() });
  }
}
