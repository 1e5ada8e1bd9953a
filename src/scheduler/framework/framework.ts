// One profile: its plugins at each extension point, and the rules for combining their results. `filtering` and
// `scoring` choose a node, `binding` follows; runPostFilter makes room where no node is feasible.

import type { Clock } from '#machinery/clock.ts';
import { Binding } from './binding.ts';
import type { CycleState } from './cycle-state.ts';
import { ALL_ACTIONS, clusterEvent, type ClusterEventWithHint } from './events.ts';
import { Filtering } from './filtering.ts';
import type { PodNominator } from './handle.ts';
import type { FrameworkMetrics } from './metrics.ts';
import type { NodeToStatus } from './node-to-status.ts';
import type { Plugin, PluginsByPoint, PostFilterResult, Trial } from './plugin.ts';
import { asError, PluginCalls } from './plugin-calls.ts';
import type { PodInfo } from './pod-info.ts';
import { Scoring } from './scoring.ts';
import { type Code, codeOf, Status } from './status.ts';
import { untilFinished } from './unfinished.ts';
import type { WaitingPods } from './waiting-pods.ts';

export interface FrameworkConfig {
  /** The profile schedules pods with this schedulerName. */
  readonly profileName: string;
  readonly plugins: PluginsByPoint;
  /**
   * The percentage of nodes that must be feasible before scoring begins. 0 or absent: it decreases
   * with the number of nodes.
   */
  readonly percentageOfNodesToScore?: number;
  readonly clock: Clock;
  readonly nominator: PodNominator;
  readonly waitingPods: WaitingPods;
  /** Default: no metrics. */
  readonly metrics?: FrameworkMetrics;
}

export const EVERY_EVENT: readonly ClusterEventWithHint[] = [
  { event: clusterEvent('*', ALL_ACTIONS, 'every event') },
];

export class Framework {
  readonly profileName: string;
  readonly plugins: PluginsByPoint;
  readonly percentageOfNodesToScore: number | undefined;
  readonly filtering: Filtering;
  readonly scoring: Scoring;
  readonly binding: Binding;
  readonly #calls: PluginCalls;
  readonly #metrics: FrameworkMetrics | undefined;
  readonly #trial: Trial;

  constructor(config: FrameworkConfig) {
    this.profileName = config.profileName;
    this.plugins = config.plugins;
    this.percentageOfNodesToScore = config.percentageOfNodesToScore;
    this.#metrics = config.metrics;
    this.#calls = new PluginCalls(config);
    this.filtering = new Filtering(this.#calls, config.nominator);
    this.scoring = new Scoring(this.#calls);
    this.binding = new Binding(this.#calls, config);
    this.#trial = trialOf(this.filtering);
  }

  /** Returns milliseconds, for `pointRan`. */
  now(): number {
    return this.#calls.now();
  }

  /** Records that all plugins of the extension point have run, since `start`. */
  pointRan(point: string, code: Code, start: number): void {
    this.#calls.pointRan(point, code, start);
  }

  /** Returns the registered events of every plugin that can reject a pod. */
  eventRegistrations(): ReadonlyMap<string, readonly ClusterEventWithHint[]> {
    const { preEnqueue, preFilter, filter, reserve, permit } = this.plugins;
    const registrations = new Map<string, readonly ClusterEventWithHint[]>();
    for (const plugin of [
      ...preEnqueue,
      ...preFilter,
      ...filter,
      ...reserve,
      ...permit,
    ] satisfies Plugin[]) {
      if (!registrations.has(plugin.name))
        registrations.set(plugin.name, plugin.eventsToRegister?.() ?? EVERY_EVENT);
    }
    return registrations;
  }

  /**
   * Calls the plugins in order until one has made room or failed. The messages of all called
   * plugins are kept.
   */
  async runPostFilter(
    state: CycleState,
    pod: PodInfo,
    statuses: NodeToStatus,
  ): Promise<PostFilterResult & { readonly message: string }> {
    const start = this.#calls.now();
    const result = await this.#postFilter(state, pod, statuses);
    this.#calls.pointRan('PostFilter', codeOf(result.status), start);
    return result;
  }

  async #postFilter(
    state: CycleState,
    pod: PodInfo,
    statuses: NodeToStatus,
  ): Promise<PostFilterResult & { readonly message: string }> {
    const reasons: string[] = [];
    let nominatedNode: string | undefined;
    let refusal: Status = new Status('Unschedulable', []);
    for (const plugin of this.#calls.of(state).postFilter) {
      // It tries nodes, for which Filter plugins may need several turns.
      const result = await untilFinished(() =>
        plugin.postFilter(state, pod, statuses, this.#trial),
      );
      if ('victims' in result) this.#metrics?.preempted(result.victims);
      nominatedNode = result.nominatedNode ?? nominatedNode;
      if (result.status === undefined) return { nominatedNode, status: undefined, message: '' };
      if (result.status.code === 'Error') {
        const status = asError(result.status, plugin, 'PostFilter');
        return { nominatedNode, status, message: status.message };
      }
      reasons.push(...result.status.reasons);
      if (result.status.code === 'UnschedulableAndUnresolvable') {
        return { nominatedNode, status: result.status, message: reasons.join(', ') };
      }
      refusal = result.status;
    }
    return { nominatedNode, status: refusal, message: reasons.join(', ') };
  }
}

/** Returns what a PostFilter plugin tries: the filters, with pods added and removed. */
function trialOf(filtering: Filtering): Trial {
  return {
    template: (state, pod) => filtering.wholeTemplate(state, pod),
    addPod: (state, pod, added, node) => filtering.runAddPod(state, pod, added, node),
    removePod: (state, pod, removed, node) => filtering.runRemovePod(state, pod, removed, node),
    filter: (state, pod, node) =>
      filtering.runFiltersWithNominatedPods(filtering.activeFilters(state), state, pod, node),
  };
}
