export { SNAPSHOT_NODE } from './content-parts.ts';
export { CsiSnapshotter } from './csi-snapshotter.ts';
export { GroupSnapshotter } from './group-snapshotter.ts';
export {
  GROUP_SNAPSHOT_GROUP,
  groupSnapshotDefinitions,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
} from './group-resources.ts';
export {
  SNAPSHOT_GROUP,
  snapshotDefinitions,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  volumeSnapshotClasses,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from './resources.ts';
