// The API for plugins. docs/writing-a-scheduler-plugin.md shows how to use it.

export { type CycleState, type StateKey, stateKey } from './cycle-state.ts';
export { ActionType, clusterEvent, UPDATE } from './events.ts';
export type { ClusterEvent, ClusterEventWithHint, EventObjects, QueueingHint } from './events.ts';
export type { Handle, PluginArgs, PluginRegistration } from './handle.ts';
export type { NodeInfo } from './node-info.ts';
export type { Node, Pod } from './objects.ts';
export { MAX_NODE_SCORE, MIN_NODE_SCORE } from './plugin.ts';
export type {
  Answer,
  BindPlugin,
  FilterPlugin,
  PermitPlugin,
  Plugin,
  PostBindPlugin,
  PostFilterPlugin,
  PreBindPlugin,
  PreEnqueuePlugin,
  PreFilterPlugin,
  PreScorePlugin,
  QueueSortPlugin,
  ReservePlugin,
  ScorePlugin,
} from './plugin.ts';
export type { PodInfo } from './pod-info.ts';
export { Status } from './status.ts';
export { Unfinished } from './unfinished.ts';
