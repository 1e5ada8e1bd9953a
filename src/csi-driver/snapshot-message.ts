// A snapshot, as the storage interface describes it.

import type { CsiInput } from '#csi/schema.ts';
import type { SnapshotRecord } from './records.ts';

export function snapshotMessage(record: SnapshotRecord): CsiInput<'Snapshot'> {
  const { id, volumeId, sizeBytes, createdAt, groupId } = record;
  return {
    snapshotId: id,
    sourceVolumeId: volumeId,
    sizeBytes,
    creationTime: timestamp(createdAt),
    readyToUse: true,
    ...(groupId !== undefined && { groupSnapshotId: groupId }),
  };
}

/** Returns the time; `ms`: milliseconds since the epoch. */
export function timestamp(ms: number): CsiInput<'Timestamp'> {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: (ms - seconds * 1000) * 1_000_000 };
}
