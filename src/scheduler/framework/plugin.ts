// The extension points. A plugin is an object with a name that implements one or more of these
// interfaces; the profile decides which of its extension points are used. The order of the calls
// for one pod:
//
// PreEnqueue → QueueSort → PreFilter → Filter (each node) → PostFilter (only if no node is left) →
// PreScore → Score (each node) → NormalizeScore → Reserve → Permit → (asynchronously) PreBind →
// Bind → PostBind.
//
// Up to Permit, one pod at a time is scheduled, and all calls except PostFilter are synchronous: a
// plugin that has to wait records what it needs and waits in PreBind. An exception of a plugin
// becomes an Error status.

import type { ClusterEventWithHint } from './events.ts';
import type { CycleState } from './cycle-state.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';
import type { Status } from './status.ts';
import type { NodeToStatus } from './node-to-status.ts';

export const MIN_NODE_SCORE = 0;
export const MAX_NODE_SCORE = 100;

/** undefined means success. */
export type Answer = Status | undefined;

export interface Plugin {
  /** The name by which profiles refer to the plugin. */
  readonly name: string;
  /**
   * Returns the events that may make a pod schedulable which this plugin has rejected (in
   * PreEnqueue, PreFilter, Filter, Reserve or Permit). Absent: every event may. After a missing
   * event, pods wait for the five-minute flush.
   */
  eventsToRegister?(): readonly ClusterEventWithHint[];
}

/** The fields of a queued pod that sorting uses. */
export interface Queued {
  readonly info: PodInfo;
  /** When the pod was last added to the queue, in milliseconds on the monotonic clock. */
  readonly timestampMs: number;
  /** Distinguishes pods with equal timestamps: the smaller one was added first. */
  readonly sequence: number;
}

export interface QueueSortPlugin extends Plugin {
  /** Reports whether `a` is scheduled before `b`. */
  less(a: Queued, b: Queued): boolean;
}

export interface PreEnqueuePlugin extends Plugin {
  /**
   * A status other than success keeps the pod out of the active queue, at no cost, until a
   * registered event.
   */
  preEnqueue(pod: PodInfo): Answer;
}

export interface PreFilterResult {
  /** Only these nodes are candidates. Absent: all nodes. */
  readonly nodeNames?: ReadonlySet<string>;
}

export interface PreFilterPlugin extends Plugin {
  /**
   * Rejects the pod for all nodes, restricts the nodes, or computes data for Filter. Status Skip:
   * this plugin's Filter is not called.
   */
  preFilter(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
  ): PreFilterResult | Status | undefined;
  /**
   * Updates data that `preFilter` stored in `state`, as if a pod were on (or not on) a node.
   * Absent: the data does not depend on other pods.
   */
  addPod?(state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo): Answer;
  removePod?(state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo): Answer;
}

export interface FilterPlugin extends Plugin {
  /**
   * Reports whether the pod could run on the node. Called for very many nodes: plugins should
   * return statuses created in advance. `position`: the node's position in the snapshot; absent for
   * hypothetical nodes, and sometimes for others. Throws Unfinished if the answer takes more than
   * some milliseconds: with the same state and node, the next call continues.
   */
  filter(state: CycleState, pod: PodInfo, node: NodeInfo, position?: number): Answer;
  /**
   * Returns a text with everything about the pod that `filter` depends on, if besides it `filter`
   * depends only on the node: for pods with equal texts, the result for an unchanged node is
   * remembered, and not every pod calls `filter`. Absent, or undefined: `filter` depends on more.
   */
  filterTemplate?(pod: PodInfo): string | undefined;
}

export interface PostFilterResult {
  /**
   * Set by a plugin that preempts, for metrics: the number of victims; undefined: preemption was
   * attempted and would not help. Absent: no preemption.
   */
  readonly victims?: number;
  /**
   * The node to which the pod is nominated. Absent: its nomination stays; '': its nomination is
   * removed.
   */
  readonly nominatedNode?: string;
  /** Success: later PostFilter plugins are not called. */
  readonly status: Answer;
}

/** Evaluates hypothetically added or removed pods. `state` and `node`: clones of the caller. */
export interface Trial {
  /** Updates the state for `added` on the node (which has it already). */
  addPod(state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo): Answer;
  removePod(state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo): Answer;
  /**
   * Returns everything besides the node that `filter` depends on, if possible: for pods with equal
   * texts the result for an unchanged node is equal, also with pods removed from it. Undefined: it
   * depends on more.
   */
  template(state: CycleState, pod: PodInfo): string | undefined;
  /**
   * Reports whether the pod could run on the node, also with the pods of higher priority that are
   * nominated to it.
   */
  filter(state: CycleState, pod: PodInfo, node: NodeInfo): Answer;
}

export interface PostFilterPlugin extends Plugin {
  /**
   * Called if no node is left: tries to make room. Its message is appended to the message of the
   * pod's condition.
   */
  postFilter(
    state: CycleState,
    pod: PodInfo,
    statuses: NodeToStatus,
    trial: Trial,
  ): PostFilterResult | Promise<PostFilterResult>;
}

export interface PreScorePlugin extends Plugin {
  /**
   * Computes data for Score. `nodes`: those that passed. `positions`: of these nodes in the
   * snapshot, if they are known; the array may be longer than `nodes`. Status Skip: this plugin's
   * Score is not called.
   */
  preScore(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions?: readonly number[],
  ): Answer;
}

export interface ScorePlugin extends Plugin {
  /**
   * Returns any number if there is a `normalizeScore`, otherwise an integer from MIN_NODE_SCORE to
   * MAX_NODE_SCORE. Higher is better.
   */
  score(state: CycleState, pod: PodInfo, node: NodeInfo): number;
  /**
   * Writes to `scores` what `score` returns for each node, if the plugin can tell without reading
   * the nodes; returns false if it cannot. `positions`: as of preScore. Absent: `score` is called.
   */
  scoreByPosition?(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions: readonly number[],
    scores: number[],
  ): boolean;
  /**
   * Returns the template for `score`, like filterTemplate. Not used together with normalizeScore.
   */
  scoreTemplate?(pod: PodInfo): string | undefined;
  /**
   * Converts the scores, in the order of `nodes`, to integers from MIN_NODE_SCORE to
   * MAX_NODE_SCORE, in place.
   */
  normalizeScore?(
    state: CycleState,
    pod: PodInfo,
    scores: number[],
    nodes: readonly NodeInfo[],
  ): Answer;
}

export interface ReservePlugin extends Plugin {
  /**
   * Reserves resources on the pod's node. If any plugin or a later step fails, every plugin's
   * `unreserve` is called.
   */
  reserve(state: CycleState, pod: PodInfo, nodeName: string): Answer;
  /** Releases reserved resources. Idempotent, and must not fail. */
  unreserve(state: CycleState, pod: PodInfo, nodeName: string): void;
}

export interface PermitPlugin extends Plugin {
  /**
   * Status Wait: the binding is delayed until every plugin that returned it allows the pod, at most
   * `timeoutMs` (and 15 minutes).
   */
  permit(
    state: CycleState,
    pod: PodInfo,
    nodeName: string,
  ): { readonly status: Answer; readonly timeoutMs?: number };
}

export interface PreBindPlugin extends Plugin {
  /**
   * Reports whether preBind is needed. Status Skip: it is not called for this pod. Synchronous.
   * Absent: preBind is always called.
   */
  preBindPreFlight?(state: CycleState, pod: PodInfo, nodeName: string): Answer;
  /** Prepares the binding. May take long: other pods are scheduled meanwhile. */
  preBind(state: CycleState, pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<Answer>;
}

export interface BindPlugin extends Plugin {
  /**
   * Binds the pod. Status Skip: the next plugin binds. If it throws a StatusError, the scheduler
   * derives from it whether the pod may be bound nevertheless.
   */
  bind(state: CycleState, pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<Answer>;
}

export interface PostBindPlugin extends Plugin {
  postBind(state: CycleState, pod: PodInfo, nodeName: string): void;
}

/**
 * By extension point: the method that a plugin has if it implements it. Names as in
 * KubeSchedulerConfiguration.
 */
export const EXTENSION_POINTS = {
  preEnqueue: 'preEnqueue',
  queueSort: 'less',
  preFilter: 'preFilter',
  filter: 'filter',
  postFilter: 'postFilter',
  preScore: 'preScore',
  score: 'score',
  reserve: 'reserve',
  permit: 'permit',
  preBind: 'preBind',
  bind: 'bind',
  postBind: 'postBind',
} as const;

export type ExtensionPoint = keyof typeof EXTENSION_POINTS;

export interface PluginAt {
  readonly preEnqueue: PreEnqueuePlugin;
  readonly queueSort: QueueSortPlugin;
  readonly preFilter: PreFilterPlugin;
  readonly filter: FilterPlugin;
  readonly postFilter: PostFilterPlugin;
  readonly preScore: PreScorePlugin;
  readonly score: ScorePlugin;
  readonly reserve: ReservePlugin;
  readonly permit: PermitPlugin;
  readonly preBind: PreBindPlugin;
  readonly bind: BindPlugin;
  readonly postBind: PostBindPlugin;
}

/** The plugins of a profile, in the order of their calls. */
export type PluginsByPoint = {
  readonly [P in Exclude<keyof PluginAt, 'queueSort' | 'score'>]: readonly PluginAt[P][];
} & {
  readonly queueSort: PluginAt['queueSort'];
  readonly score: readonly WeightedScorePlugin[];
};

export interface WeightedScorePlugin {
  readonly plugin: ScorePlugin;
  readonly weight: number;
}

export function implementsPoint<P extends ExtensionPoint>(
  plugin: Plugin,
  point: P,
): plugin is PluginAt[P] {
  const method: string = EXTENSION_POINTS[point];
  return (
    method in plugin && typeof (plugin as unknown as Record<string, unknown>)[method] === 'function'
  );
}
