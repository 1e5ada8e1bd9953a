// The controller that binds claims to volumes.

export { PersistentVolumeBinder } from './persistent-volume-binder.ts';
export type { PersistentVolumeBinderConfig } from './persistent-volume-binder.ts';
