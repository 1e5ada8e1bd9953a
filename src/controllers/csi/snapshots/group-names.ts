// The names, annotations and finalizers of snapshots that belong to a group, which are upstream's.

import { createHash } from 'node:crypto';
import type { Immutable, ObjectMeta } from '#api/machinery/meta/v1/index.ts';
import { GROUP_SNAPSHOT_GROUP } from './group-resources.ts';

interface Named {
  readonly metadata: Immutable<ObjectMeta>;
}

/** Keeps a snapshot until its group is deleted. */
export const IN_GROUP = 'snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection';
/** The annotation of contents that were made for a group. */
export const GROUP_HANDLE = 'groupsnapshot.storage.kubernetes.io/volumeGroupSnapshotHandle';

const [SNAPSHOT, CONTENT] = ['snapshot-', 'snapcontent-'];

/** Returns the names of the snapshot and of its content, of one volume of the group. */
export function memberNames(
  groupUid: string,
  volumeHandle: string,
): { readonly snapshot: string; readonly content: string } {
  const hash = createHash('sha256')
    .update(groupUid + volumeHandle)
    .digest('hex');
  return { snapshot: SNAPSHOT + hash, content: CONTENT + hash };
}

/** Returns the group that owns a snapshot; undefined if none does. */
export function groupOf({
  metadata,
}: Named): { readonly name: string; readonly uid: string } | undefined {
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind }) =>
      kind === 'VolumeGroupSnapshot' && apiVersion.startsWith(`${GROUP_SNAPSHOT_GROUP}/`),
  );
}

/** Returns the name of the content of a snapshot that was made for a group. */
export function memberContentName(snapshot: Named): string | undefined {
  const { name } = snapshot.metadata;
  if (groupOf(snapshot) === undefined || !name.startsWith(SNAPSHOT)) return undefined;
  return name.replace(SNAPSHOT, CONTENT);
}

/** Reports whether a content was made for a group: the driver deletes its snapshot with the group. */
export const isMemberContent = ({ metadata }: Named): boolean =>
  metadata.annotations?.[GROUP_HANDLE] !== undefined;
