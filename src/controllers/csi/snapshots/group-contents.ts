// The contents of snapshots of groups: how a driver takes, finds and deletes their snapshots.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Lister } from '#client/informers/index.ts';
import type { CsiMessage } from '#csi/schema.ts';
import type { Clock } from '#machinery/clock.ts';
import { isRpcError } from '#machinery/grpc/rpc-error.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { CsiControllerService } from '../csi-controller-service.ts';
import { driverParameters, nanoseconds, type SecretAnnotations } from './content-parts.ts';
import type { ContentKind, Secrets } from './content-reconciler.ts';
import {
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
} from './group-resources.ts';

type Content = Immutable<VolumeGroupSnapshotContent>;

export const GROUP_SECRET: SecretAnnotations = {
  name: 'groupsnapshot.storage.kubernetes.io/deletion-secret-name',
  namespace: 'groupsnapshot.storage.kubernetes.io/deletion-secret-namespace',
};
export const GROUP_CONTENT_PROTECTION =
  'groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection';

export class GroupContents implements ContentKind<Content> {
  readonly type = volumeGroupSnapshotContents;
  readonly noun = 'group snapshot';
  readonly reasonPrefix = 'GroupSnapshot';
  readonly finalizer = GROUP_CONTENT_PROTECTION;
  readonly secret = GROUP_SECRET;
  readonly #service: CsiControllerService;
  readonly #clock: Clock;
  readonly #groups: Lister<Immutable<VolumeGroupSnapshot>>;
  readonly #classes: Lister<Immutable<VolumeGroupSnapshotClass>>;

  constructor(
    { service, clock }: { readonly service: CsiControllerService; readonly clock: Clock },
    groups: Lister<Immutable<VolumeGroupSnapshot>>,
    classes: Lister<Immutable<VolumeGroupSnapshotClass>>,
  ) {
    this.#service = service;
    this.#clock = clock;
    this.#groups = groups;
    this.#classes = classes;
  }

  givenHandle({ spec }: Content): string | undefined {
    return spec.source.groupSnapshotHandles?.volumeGroupSnapshotHandle;
  }

  async exists(groupSnapshotId: string): Promise<boolean> {
    try {
      await this.#service.getGroupSnapshot({ groupSnapshotId });
      return true;
    } catch (error) {
      if (isRpcError(error, 'NOT_FOUND')) return false;
      throw error;
    }
  }

  ownerOf({
    spec: { volumeGroupSnapshotRef: ref },
  }: Content): Immutable<VolumeGroupSnapshot> | undefined {
    const group = this.#groups.get(ref.namespace ?? '', ref.name ?? '');
    return group?.metadata.uid === ref.uid ? group : undefined;
  }

  /** A content that was given is bound first. */
  isFilled({ spec }: Content): boolean {
    return spec.volumeGroupSnapshotRef.uid !== undefined;
  }

  async fill(
    { spec }: Content,
    secrets: Secrets,
  ): Promise<NonNullable<Content['status']> & { readyToUse: boolean }> {
    const taken = await this.#groupOf(spec, secrets);
    if (taken === undefined || taken.groupSnapshotId === '')
      throw new Error('the driver has no such group snapshot');
    const ms = Math.floor(nanoseconds(taken.creationTime) / 1e6);
    const infos = taken.snapshots.map((each) => ({
      volumeHandle: each.sourceVolumeId,
      snapshotHandle: each.snapshotId,
      creationTime: nanoseconds(each.creationTime),
      readyToUse: each.readyToUse,
      restoreSize: each.sizeBytes,
    }));
    return {
      volumeGroupSnapshotHandle: taken.groupSnapshotId,
      creationTime: formatTime(ms === 0 ? this.#clock.now() : ms),
      readyToUse: taken.readyToUse,
      // The members of a given content are created with it.
      ...(spec.source.volumeHandles !== undefined && { volumeSnapshotInfoList: infos }),
    };
  }

  async #groupOf(
    { source, volumeGroupSnapshotRef: ref, volumeGroupSnapshotClassName = '' }: Content['spec'],
    secrets: Secrets,
  ): Promise<CsiMessage<'VolumeGroupSnapshot'> | undefined> {
    if (source.volumeHandles === undefined) {
      const given = source.groupSnapshotHandles;
      const response = await this.#service.getGroupSnapshot({
        groupSnapshotId: given?.volumeGroupSnapshotHandle ?? '',
        snapshotIds: given?.volumeSnapshotHandles ?? [],
        secrets,
      });
      return response.groupSnapshot;
    }
    const { groupSnapshot } = await this.#service.createGroupSnapshot({
      name: `groupsnapshot-${ref.uid ?? ''}`,
      sourceVolumeIds: source.volumeHandles,
      parameters: driverParameters(this.#classes.get('', volumeGroupSnapshotClassName)?.parameters),
      secrets,
    });
    return groupSnapshot;
  }

  async delete({ spec, status }: Content, secrets: () => Promise<Secrets>): Promise<void> {
    const { groupSnapshotHandles: given } = spec.source;
    const groupSnapshotId = status?.volumeGroupSnapshotHandle ?? given?.volumeGroupSnapshotHandle;
    if (groupSnapshotId === undefined) return;
    const { volumeSnapshotInfoList: infos = [] } = status ?? {};
    const taken = infos.flatMap(({ snapshotHandle }) => snapshotHandle ?? []);
    await this.#service.deleteGroupSnapshot({
      groupSnapshotId,
      snapshotIds: given?.volumeSnapshotHandles ?? taken,
      secrets: await secrets(),
    });
  }
}
