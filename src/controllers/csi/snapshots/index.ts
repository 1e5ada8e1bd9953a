export { CsiSnapshotter, SNAPSHOT_NODE } from './csi-snapshotter.ts';
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
