// The extension points. A plugin is an object with a name that implements one or more of these
// interfaces; which of its extension points are used is up to the profile. The order in which they
// are called for one pod:
//
//   PreEnqueue → QueueSort → PreFilter → Filter (each node) → PostFilter (only if no node is left) →
//   PreScore → Score (each node) → NormalizeScore → Reserve → Permit → (asynchronously) PreBind → Bind → PostBind
//
// Up to Permit, one pod at a time is worked on, and all but PostFilter answer at once: a plugin
// that has to wait for something notes what it needs and does it in PreBind. What a plugin throws
// is taken as an Error status.

import type { ClusterEventWithHint } from './events.ts';
import type { CycleState } from './cycle-state.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';
import type { Status } from './status.ts';
import type { NodeToStatus } from './node-to-status.ts';

export const MIN_NODE_SCORE = 0;
export const MAX_NODE_SCORE = 100;

/** undefined is success. */
export type Answer = Status | undefined;

export interface Plugin {
  /** As profiles name it. */
  readonly name: string;
  /**
   * The changes that may make a pod schedulable which this plugin has refused (in PreEnqueue,
   * PreFilter, Filter, Reserve or Permit). Absent: every change may. A change left out here leaves
   * pods waiting for the five-minute flush.
   */
  eventsToRegister?(): readonly ClusterEventWithHint[];
}

/** A pod in the queue, as far as sorting looks at it. */
export interface Queued {
  readonly info: PodInfo;
  /** When the pod last came into the queue, in milliseconds on the monotonic clock. */
  readonly timestampMs: number;
  /** Tells apart pods of the same instant: the smaller came first. */
  readonly sequence: number;
}

export interface QueueSortPlugin extends Plugin {
  /** True: `a` is scheduled before `b`. */
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
  /** Only these nodes need to be looked at. Absent: all. */
  readonly nodeNames?: ReadonlySet<string>;
}

export interface PreFilterPlugin extends Plugin {
  /**
   * Refuses the pod whatever the node, narrows the nodes, or computes what Filter needs. Status
   * Skip: leave out this plugin's Filter.
   */
  preFilter(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
  ): PreFilterResult | Status | undefined;
  /**
   * Update what `preFilter` noted in `state`, as if a pod were on (or not on) a node. Absent: it
   * depends on no other pod.
   */
  addPod?(state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo): Answer;
  removePod?(state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo): Answer;
}

export interface FilterPlugin extends Plugin {
  /**
   * Whether the pod could run on the node. Called for very many nodes: answer statuses made
   * beforehand. `position`: the node is the one at that position of the snapshot; it is not called
   * for all of these, and never for hypothetical ones.
   */
  filter(state: CycleState, pod: PodInfo, node: NodeInfo, position?: number): Answer;
  /**
   * All of the pod that `filter` looks at, if beside it it looks at nothing but the node: pods of
   * one text get the same answer from a node that has not changed, so not each of them asks.
   * Absent, or undefined: it looks at more than that.
   */
  filterTemplate?(pod: PodInfo): string | undefined;
}

export interface PostFilterResult {
  /**
   * From a plugin that makes others go, for metrics: how many; undefined: that was tried, and is no
   * use. Absent: it does not.
   */
  readonly victims?: number | undefined;
  /**
   * The node that the pod is to get once it has room. Absent: leave the pod's nomination as it is;
   * '': take it back.
   */
  readonly nominatedNode?: string;
  /** Success: later PostFilter plugins are not asked. */
  readonly status: Answer;
}

/**
 * To find out what would be if pods were added or removed. `state` and `node` are clones of the
 * caller's own.
 */
export interface Trial {
  /** `added` is on the node (which has it already). */
  addPod(state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo): Answer;
  removePod(state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo): Answer;
  /**
   * All that decides `filter` beside the node, if that can be said: pods of one text fit a node
   * that has not changed in the same way, also with pods removed from it. Undefined: it depends on
   * more.
   */
  template(state: CycleState, pod: PodInfo): string | undefined;
  /**
   * Whether the pod could run on the node, also beside the pods of higher priority that are
   * nominated to the node.
   */
  filter(state: CycleState, pod: PodInfo, node: NodeInfo): Answer;
}

export interface PostFilterPlugin extends Plugin {
  /**
   * No node is left: try to make room. The message of its status ends that of the pod's condition.
   */
  postFilter(
    state: CycleState,
    pod: PodInfo,
    statuses: NodeToStatus,
    trial: Trial,
  ): PostFilterResult | Promise<PostFilterResult>;
}

export interface PreScorePlugin extends Plugin {
  /** `nodes`: those that passed. Status Skip: leave out this plugin's Score. */
  preScore(state: CycleState, pod: PodInfo, nodes: readonly NodeInfo[]): Answer;
}

export interface ScorePlugin extends Plugin {
  /**
   * Any number if there is a `normalizeScore`, else an integer from MIN_NODE_SCORE to
   * MAX_NODE_SCORE. Higher is better.
   */
  score(state: CycleState, pod: PodInfo, node: NodeInfo): number;
  /** As filterTemplate, for `score`. Of no use together with normalizeScore. */
  scoreTemplate?(pod: PodInfo): string | undefined;
  /**
   * Brings the scores, in the order of `nodes`, to integers from MIN_NODE_SCORE to MAX_NODE_SCORE,
   * in place.
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
   * The pod has its node: hold what it needs there. Every plugin's `unreserve` is called if any
   * fails, or anything after.
   */
  reserve(state: CycleState, pod: PodInfo, nodeName: string): Answer;
  /** Idempotent, and must not fail. */
  unreserve(state: CycleState, pod: PodInfo, nodeName: string): void;
}

export interface PermitPlugin extends Plugin {
  /**
   * Status Wait: hold the binding back until every plugin that said so allows it, at most
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
   * Status Skip: there is nothing to do for this pod, leave out preBind. Answers at once. Absent:
   * preBind is always called.
   */
  preBindPreFlight?(state: CycleState, pod: PodInfo, nodeName: string): Answer;
  /** May take its time: other pods are scheduled meanwhile. */
  preBind(state: CycleState, pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<Answer>;
}

export interface BindPlugin extends Plugin {
  /**
   * Status Skip: let the next one bind. What it throws, if it is a StatusError, tells the scheduler
   * whether the pod may be bound all the same.
   */
  bind(state: CycleState, pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<Answer>;
}

export interface PostBindPlugin extends Plugin {
  postBind(state: CycleState, pod: PodInfo, nodeName: string): void;
}

/**
 * The method by which a plugin shows that it implements an extension point. Names as in
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

/** The plugins of a profile, in the order in which they are called. */
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
