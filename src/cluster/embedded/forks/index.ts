// Clusters that can be copied: see README.md.

export { Awakening } from './awakening.ts';
export { forkable, notForkable } from './forkable.ts';
export { LazyNode } from './lazy-node.ts';
export type { ClusterState, Incarnation, Revive } from './state.ts';
export { watchNodeChanges } from './node-changes.ts';
export { WakingClock } from './waking-clock.ts';
