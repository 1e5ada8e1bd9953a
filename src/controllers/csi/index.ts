export { CsiAttacher } from './csi-attacher.ts';
export { CsiCapacity } from './csi-capacity.ts';
export type { CsiControllerConfig } from './csi-config.ts';
export { type CsiControllerService, csiControllerService } from './csi-controller-service.ts';
export { CsiModifier } from './csi-modifier.ts';
export { CsiProvisioner } from './csi-provisioner.ts';
export { CsiResizer } from './csi-resizer.ts';
export {
  CsiSnapshotter,
  GROUP_SNAPSHOT_GROUP,
  groupSnapshotDefinitions,
  GroupSnapshotter,
  SNAPSHOT_GROUP,
  snapshotDefinitions,
  volumeGroupSnapshotClasses,
  volumeSnapshotClasses,
} from './snapshots/index.ts';
