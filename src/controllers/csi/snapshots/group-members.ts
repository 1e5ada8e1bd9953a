// The snapshots of the single volumes of a group, with their contents.

import type { PersistentVolume } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { MERGE_PATCH } from '../patches.ts';
import { contentAnnotations, SNAPSHOT_NODE } from './content-parts.ts';
import { Finalizers } from './finalizers.ts';
import { GROUP_SECRET } from './group-contents.ts';
import { GROUP_HANDLE, groupOf, IN_GROUP, memberNames } from './group-names.ts';
import {
  GROUP_SNAPSHOT_GROUP,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshots,
} from './group-resources.ts';
import { type VolumeSnapshot, volumeSnapshotContents, volumeSnapshots } from './resources.ts';
import { SNAPSHOT_SECRET } from './volume-contents.ts';

type Group = Immutable<VolumeGroupSnapshot>;
type Content = Immutable<VolumeGroupSnapshotContent>;
type SnapshotInfo = NonNullable<NonNullable<Content['status']>['volumeSnapshotInfoList']>[number];

const BY_HANDLE = 'volume-handle';

export class GroupMembers {
  readonly #client: Client;
  readonly #snapshots: SharedInformer<Immutable<VolumeSnapshot>>;
  readonly #volumes: SharedInformer<Immutable<PersistentVolume>>;
  readonly #finalizers: Finalizers;

  constructor(
    client: Client,
    snapshots: SharedInformer<Immutable<VolumeSnapshot>>,
    volumes: SharedInformer<Immutable<PersistentVolume>>,
  ) {
    this.#client = client;
    this.#snapshots = snapshots;
    this.#volumes = volumes;
    this.#finalizers = new Finalizers(client);
    volumes.addIndexers({
      [BY_HANDLE]: ({ spec }) => (spec.csi === undefined ? [] : [spec.csi.volumeHandle]),
    });
  }

  /** Creates the snapshot of one volume, and its content, unless they exist. */
  async create(
    group: Group,
    content: Content,
    info: SnapshotInfo,
    signal: AbortSignal,
  ): Promise<void> {
    const client = this.#client;
    const { namespace = '', name, uid } = group.metadata;
    const { driver, deletionPolicy } = content.spec;
    const { volumeHandle = '', snapshotHandle, creationTime, restoreSize, readyToUse } = info;
    const names = memberNames(uid, volumeHandle);
    if (this.#snapshots.lister.get(namespace, names.snapshot) !== undefined) return;
    const groupHandle = content.status?.volumeGroupSnapshotHandle ?? '';
    const [volume] = this.#volumes.lister
      .byIndex(BY_HANDLE, volumeHandle)
      .filter(({ spec }) => spec.csi?.driver === driver);
    const annotations = content.metadata.annotations ?? {};
    const node = annotations[SNAPSHOT_NODE];
    await apierrors.unlessExists(
      client.resource(volumeSnapshotContents).create(
        {
          metadata: {
            name: names.content,
            annotations: {
              [GROUP_HANDLE]: groupHandle,
              ...contentAnnotations({ nodeName: node }, SNAPSHOT_SECRET, {
                name: ownValue(annotations, GROUP_SECRET.name),
                namespace: ownValue(annotations, GROUP_SECRET.namespace),
              }),
            },
          },
          spec: {
            driver,
            deletionPolicy,
            source: { volumeHandle },
            volumeSnapshotRef: { kind: 'VolumeSnapshot', name: names.snapshot, namespace },
            ...(volume !== undefined && {
              sourceVolumeMode: volume.spec.volumeMode ?? 'Filesystem',
            }),
          },
        },
        { signal },
      ),
    );
    const status = {
      snapshotHandle,
      volumeGroupSnapshotHandle: groupHandle,
      creationTime,
      restoreSize,
      readyToUse,
    };
    await client
      .resource(volumeSnapshotContents)
      .patch(names.content, MERGE_PATCH, { status }, { subresource: 'status', signal });
    await apierrors.unlessExists(
      client
        .resource(volumeSnapshots)
        .namespace(namespace)
        .create(
          {
            metadata: {
              name: names.snapshot,
              finalizers: [IN_GROUP],
              ownerReferences: [
                {
                  apiVersion: `${GROUP_SNAPSHOT_GROUP}/v1beta2`,
                  kind: 'VolumeGroupSnapshot',
                  name,
                  uid,
                },
              ],
            },
            spec: {
              source: { persistentVolumeClaimName: volume?.spec.claimRef?.name ?? '' },
            },
          },
          { signal },
        ),
    );
  }

  /** Deletes the snapshots of a deleted group. */
  async release({ metadata }: Group, signal: AbortSignal): Promise<void> {
    const { uid, namespace = '' } = metadata;
    for (const snapshot of this.#snapshots.lister.list(namespace))
      if (groupOf(snapshot)?.uid === uid) await this.#releaseSnapshot(snapshot, signal);
  }

  /** Deletes the snapshots whose group is gone. */
  async releaseOrphans(key: string, signal: AbortSignal): Promise<void> {
    const [namespace = '', name = ''] = key.split('/');
    const members = this.#snapshots.lister
      .list(namespace)
      .filter((snapshot) => groupOf(snapshot)?.name === name);
    if (members.length === 0) return;
    // The cache may not have the group yet.
    const uid = await this.#uidOf(namespace, name, signal);
    for (const snapshot of members)
      if (groupOf(snapshot)?.uid !== uid) await this.#releaseSnapshot(snapshot, signal);
  }

  async #uidOf(namespace: string, name: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const resource = this.#client.resource(volumeGroupSnapshots).namespace(namespace);
      return (await resource.get(name, { signal })).metadata.uid;
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #releaseSnapshot(snapshot: Immutable<VolumeSnapshot>, signal: AbortSignal): Promise<void> {
    const { name, namespace = '', deletionTimestamp, finalizers = [] } = snapshot.metadata;
    if (!finalizers.includes(IN_GROUP)) return;
    if (deletionTimestamp === undefined)
      await this.#client.resource(volumeSnapshots).namespace(namespace).delete(name, { signal });
    else await this.#finalizers.remove(volumeSnapshots, snapshot, IN_GROUP, signal);
  }
}
