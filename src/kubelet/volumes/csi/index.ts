export { CsiVolumes } from './csi-volumes.ts';
export { DriverRegistry } from './driver-registry.ts';
export { CsiExpander, type GrowableVolume } from './expander.ts';
export type { CsiHost } from './host.ts';
export { csiNodeService } from './node-client.ts';
export type { CsiVolumeStats } from './volume-stats.ts';
export { CsiNodeInfo } from './node-info.ts';
export { NodeInfoUpdates } from './node-info-updates.ts';
