// The persistent volume binder.

export { PersistentVolumeBinder } from './persistent-volume-binder.ts';
export type { PersistentVolumeBinderConfig } from './persistent-volume-binder.ts';
export type { RecyclerOptions, RecyclerSettings } from './recycling/recycler-pod.ts';
