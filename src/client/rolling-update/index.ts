// Rolling updates of ReplicationControllers from the client.

export { RollingUpdateError } from './errors.ts';
export { recreatePods } from './recreate.ts';
export type { RecreateOptions } from './recreate.ts';
export { rollingUpdate } from './rolling-update.ts';
export type { RollingUpdateOptions, RollingUpdateResult } from './rolling-update.ts';
