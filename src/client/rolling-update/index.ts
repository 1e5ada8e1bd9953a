// Rolling updates of ReplicationControllers from the client.

export { RollingUpdateError } from './errors.ts';
export { recreatePods } from './recreate.ts';
export { rollingUpdate } from './rolling-update.ts';
export type { RecreateOptions, RollingUpdateOptions, RollingUpdateResult } from './types.ts';
