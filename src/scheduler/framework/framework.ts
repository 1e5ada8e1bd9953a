// Runs one profile: its plugins at each extension point, and the rules for combining their results.

import type { Clock } from '#machinery/clock.ts';
import type { Counter } from '#machinery/metrics/instruments.ts';
import { type CycleState, type StateKey, stateKey } from './cycle-state.ts';
import { ALL_ACTIONS, clusterEvent, type ClusterEventWithHint } from './events.ts';
import type { PodNominator } from './handle.ts';
import type { NodeInfo } from './node-info.ts';
import type { SnapshotReader } from './snapshot.ts';
import { type Layout, layoutOf, type NodeAnswers, NodeMemo } from './node-memo.ts';
import type { NodeToStatus } from './node-to-status.ts';
import {
  type Answer,
  type FilterPlugin,
  MAX_NODE_SCORE,
  MIN_NODE_SCORE,
  type Plugin,
  type PluginsByPoint,
  type PostFilterResult,
  type PreBindPlugin,
  type PreFilterPlugin,
  type ScorePlugin,
  type Trial,
  type WeightedScorePlugin,
} from './plugin.ts';
import type { FrameworkMetrics } from './metrics.ts';
import { timedPlugins } from './timed-plugins.ts';
import type { PodInfo } from './pod-info.ts';
import { Remainder } from './skipped.ts';
import { type Code, codeOf, Status } from './status.ts';
import { untilFinished } from './unfinished.ts';
import { WaitingPod, type WaitingPods } from './waiting-pods.ts';

/** The maximum time for which Permit may delay a pod. */
const MAX_PERMIT_TIMEOUT_MS = 15 * 60_000;

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

export interface PreFilterOutcome {
  /** Set if the pod was rejected, or after an error. */
  readonly status: Answer;
  /** Set if only these nodes are candidates. */
  readonly nodeNames: ReadonlySet<string> | undefined;
  /** The plugins that restricted the nodes. */
  readonly narrowedBy: ReadonlySet<string>;
}

/** The plugins of the profile that apply to the pod of this cycle. */
interface Filters {
  readonly filter: readonly FilterPlugin[];
  readonly preFilter: readonly PreFilterPlugin[];
}

interface Scores {
  readonly all: readonly WeightedScorePlugin[];
  /** Plugins whose scores of a node may be the same for all pods of a template. */
  readonly remembered: readonly WeightedScorePlugin[];
  readonly others: readonly WeightedScorePlugin[];
}

const ACTIVE_FILTERS: StateKey<Filters> = stateKey('framework/filters');
const ACTIVE_SCORES: StateKey<Scores> = stateKey('framework/scores');

const NONE: ReadonlySet<string> = new Set();
const NO_PRE_BINDS: readonly PreBindPlugin[] = [];

/**
 * The Filter plugins for one pod: results of the first plugins are remembered for pods of one
 * template, the others are called.
 */
export interface NodeFilter {
  readonly filters: readonly FilterPlugin[];
  readonly remembered: readonly FilterPlugin[];
  readonly answers: NodeAnswers<Answer> | undefined;
  readonly asked: readonly FilterPlugin[];
  /** Whether any pod is nominated to any node. */
  readonly anyNominated: boolean;
  /** The position of the pod's own nominated node; -1 for none. */
  readonly nominatedPosition: number;
}

/** Separates plugins' templates in the profile's template. It occurs in no text of the API. */
const SEPARATOR = '\0';

export class Framework {
  readonly profileName: string;
  readonly plugins: PluginsByPoint;
  readonly percentageOfNodesToScore: number | undefined;
  readonly #clock: Clock;
  readonly #nominator: PodNominator;
  readonly #waitingPods: WaitingPods;
  readonly #metrics: FrameworkMetrics | undefined;
  /** The same as `plugins`, with timing of each plugin. */
  readonly #timedPlugins: PluginsByPoint;
  readonly #trial: Trial = {
    template: (state, pod) => this.#wholeTemplate(state, pod),
    addPod: (state, pod, added, node) => this.runAddPod(state, pod, added, node),
    removePod: (state, pod, removed, node) => this.runRemovePod(state, pod, removed, node),
    filter: (state, pod, node) =>
      this.runFiltersWithNominatedPods(this.activeFilters(state), state, pod, node),
  };
  /** The plugins without those that skip, of `plugins` and of #timedPlugins. */
  readonly #active: Active;
  readonly #timedActive: Active;
  /**
   * The scores of one plugin, and the sums. Reused, so that a cycle allocates no arrays for them.
   */
  readonly #scores: number[] = [];
  readonly #totals: number[] = [];
  /** By plugin, for each extension point: the number of calls. */
  readonly #asked = {
    PreFilter: new Map<string, Counter>(),
    Filter: new Map<string, Counter>(),
    PreScore: new Map<string, Counter>(),
    Score: new Map<string, Counter>(),
  };
  readonly #filterMemo = new NodeMemo<Answer>(undefined);
  readonly #scoreMemo = new NodeMemo<number>(0);

  constructor(config: FrameworkConfig) {
    this.profileName = config.profileName;
    this.plugins = config.plugins;
    this.percentageOfNodesToScore = config.percentageOfNodesToScore;
    this.#clock = config.clock;
    this.#nominator = config.nominator;
    this.#waitingPods = config.waitingPods;
    this.#metrics = config.metrics;
    this.#timedPlugins =
      config.metrics === undefined ? config.plugins : timedPlugins(config.plugins, config.metrics);
    this.#active = new Active(this.plugins);
    this.#timedActive = new Active(this.#timedPlugins);
  }

  /** Returns the plugins for this cycle. */
  #pluginsOf(state: CycleState): PluginsByPoint {
    return state.timed ? this.#timedPlugins : this.plugins;
  }

  #activeOf(state: CycleState): Active {
    return state.timed ? this.#timedActive : this.#active;
  }

  /** Returns milliseconds, for `pointRan`. */
  now(): number {
    return this.#metrics?.now() ?? 0;
  }

  /** Records that all plugins of the extension point have run, since `start`. */
  pointRan(point: string, code: Code, start: number): void {
    this.#metrics?.pointRan(point, code, this.profileName, start);
  }

  #wasAsked(
    point: 'PreFilter' | 'Filter' | 'PreScore' | 'Score',
    plugin: string,
    times: number,
  ): void {
    if (this.#metrics === undefined) return;
    const counters = this.#asked[point];
    let counter = counters.get(plugin);
    if (counter === undefined) {
      counter = this.#metrics.evaluations(plugin, point, this.profileName);
      counters.set(plugin, counter);
    }
    counter.value += times;
  }

  /**
   * Records the number of nodes evaluated for the pod of this cycle. `refused`: how many of them
   * each plugin rejected.
   */
  nodesLookedAt(state: CycleState, count: number, refused: ReadonlyMap<string, number>): void {
    let left = count;
    for (const { name } of this.activeFilters(state)) {
      this.#wasAsked('Filter', name, left);
      // The next plugin is not called for rejected nodes.
      left -= refused.get(name) ?? 0;
    }
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

  runPreFilter(state: CycleState, pod: PodInfo, nodes: readonly NodeInfo[]): PreFilterOutcome {
    state.timed = this.#metrics?.samplesCycle() ?? false;
    const start = this.now();
    const outcome = this.#preFilter(state, pod, nodes);
    this.pointRan('PreFilter', codeOf(outcome.status), start);
    return outcome;
  }

  #preFilter(state: CycleState, pod: PodInfo, nodes: readonly NodeInfo[]): PreFilterOutcome {
    const plugins = this.#pluginsOf(state);
    let nodeNames: Set<string> | undefined;
    let narrowedBy: Set<string> | undefined;
    const skipped: string[] = [];
    let refusal: Status | undefined;
    for (const plugin of plugins.preFilter) {
      const answer = plugin.preFilter(state, pod, nodes);
      if (!(answer instanceof Status && answer.code === 'Skip'))
        this.#wasAsked('PreFilter', plugin.name, 1);
      if (answer === undefined) continue;
      if (answer instanceof Status) {
        if (answer.code === 'Skip') {
          skipped.push(plugin.name);
        } else if (!answer.rejected) {
          return {
            status: asError(answer, plugin, 'PreFilter'),
            nodeNames: undefined,
            narrowedBy: NONE,
          };
        } else {
          refusal ??= answer.withPlugin(plugin.name);
          // No other plugin can return a worse status.
          if (answer.code === 'UnschedulableAndUnresolvable') {
            return {
              status: answer.withPlugin(plugin.name),
              nodeNames: undefined,
              narrowedBy: NONE,
            };
          }
        }
        continue;
      }
      if (answer.nodeNames === undefined) continue;
      narrowedBy ??= new Set();
      narrowedBy.add(plugin.name);
      nodeNames =
        nodeNames === undefined
          ? new Set(answer.nodeNames)
          : intersection(nodeNames, answer.nodeNames);
      if (nodeNames.size === 0) {
        const names = [...narrowedBy].sort();
        const reason =
          names.length === 1
            ? `node(s) didn't satisfy plugin ${names[0]}`
            : `node(s) didn't satisfy plugin(s) [${names.join(' ')}] simultaneously`;
        const status = new Status('UnschedulableAndUnresolvable', [reason], plugin.name);
        return { status, nodeNames, narrowedBy };
      }
    }
    state.write(ACTIVE_FILTERS, this.#activeOf(state).filters.of(skipped));
    return { status: refusal, nodeNames, narrowedBy: narrowedBy ?? NONE };
  }

  /**
   * Returns the Filter plugins that apply to the pod of this cycle. Must be called after
   * runPreFilter.
   */
  activeFilters(state: CycleState): readonly FilterPlugin[] {
    return state.read(ACTIVE_FILTERS)?.filter ?? this.plugins.filter;
  }

  /** Returns the Score plugins that apply to the pod of this cycle, with their weights. After runPreScore. */
  activeScores(state: CycleState): readonly WeightedScorePlugin[] {
    return (state.read(ACTIVE_SCORES) ?? this.#activeOf(state).scores.of([])).all;
  }

  #activePreFilters(state: CycleState): readonly PreFilterPlugin[] {
    return state.read(ACTIVE_FILTERS)?.preFilter ?? this.plugins.preFilter;
  }

  /**
   * Runs the filters: the first plugin that rejects the node decides. `filters`: from
   * activeFilters. `position`: as in FilterPlugin.filter.
   */
  runFilters(
    filters: readonly FilterPlugin[],
    state: CycleState,
    pod: PodInfo,
    node: NodeInfo,
    position?: number,
  ): Answer {
    for (const plugin of filters) {
      const answer = plugin.filter(state, pod, node, position);
      if (answer !== undefined)
        return answer.rejected ? answer.withPlugin(plugin.name) : asError(answer, plugin, 'Filter');
    }
    return undefined;
  }

  /** Returns the filter for the nodes of a snapshot. Must be called after runPreFilter. */
  nodeFilter(state: CycleState, pod: PodInfo, snapshot: SnapshotReader): NodeFilter {
    const filters = this.activeFilters(state);
    // The first rejection decides: results of plugins after one that must be called cannot be
    // remembered before it. The priority is part of the template, because it decides which
    // nominated pods count.
    let template = `${pod.priority}${SEPARATOR}`;
    let count = 0;
    for (const plugin of filters) {
      const own = plugin.filterTemplate?.(pod);
      if (own === undefined) break;
      template += plugin.name + SEPARATOR + own + SEPARATOR;
      count++;
    }
    const answers = count === 0 ? undefined : this.#filterMemo.of(template, layoutOf(snapshot));
    const anyNominated = !this.#nominator.isEmpty();
    const nominatedNode = anyNominated ? this.#nominator.nominatedNode(pod.uid) : undefined;
    const nominatedPosition =
      nominatedNode === undefined ? -1 : (snapshot.positionOf(nominatedNode) ?? -1);
    if (answers === undefined)
      return { filters, remembered: [], answers, asked: filters, anyNominated, nominatedPosition };
    return {
      filters,
      remembered: filters.slice(0, count),
      answers,
      asked: filters.slice(count),
      anyNominated,
      nominatedPosition,
    };
  }

  #wholeTemplate(state: CycleState, pod: PodInfo): string | undefined {
    const preFilters = this.#activePreFilters(state);
    if (preFilters.some((plugin) => plugin.addPod !== undefined)) return undefined;
    let template = '';
    for (const plugin of this.activeFilters(state)) {
      const own = plugin.filterTemplate?.(pod);
      if (own === undefined) return undefined;
      template += plugin.name + SEPARATOR + own + SEPARATOR;
    }
    return template;
  }

  /**
   * Runs runFiltersWithNominatedPods for the node at this position of the snapshot, using
   * remembered results.
   */
  runNodeFilter(
    filter: NodeFilter,
    state: CycleState,
    pod: PodInfo,
    node: NodeInfo,
    position: number,
  ): Answer {
    const { answers, asked } = filter;
    // The pod's own nomination does not count against it.
    if (answers === undefined || position === filter.nominatedPosition) {
      return this.runFiltersWithNominatedPods(filter.filters, state, pod, node, position);
    }
    // If the result is remembered, the node itself is not read, because each memory access to one
    // of thousands of nodes is slow.
    let answer: Answer;
    if (answers.has(position)) {
      answer = answers.get(position);
    } else {
      answer = this.runFiltersWithNominatedPods(filter.remembered, state, pod, node, position);
      if (answer?.code !== 'Error') answers.set(position, answer);
    }
    if (answer !== undefined || asked.length === 0) return answer;
    // Plugins without remembered results have to run with the nominated pods added to the node.
    const hasNominatedPods =
      filter.anyNominated && this.#nominator.nominatedPodsForNode(node.name).length > 0;
    return hasNominatedPods
      ? this.runFiltersWithNominatedPods(filter.filters, state, pod, node, position)
      : this.runFilters(asked, state, pod, node, position);
  }

  /**
   * Runs the filters twice: with the nominated pods of the same or a higher priority added to the
   * node, and without them. The pod must pass both: nominated pods may still go elsewhere, and this
   * pod may depend on pods that are there.
   */
  runFiltersWithNominatedPods(
    filters: readonly FilterPlugin[],
    state: CycleState,
    pod: PodInfo,
    node: NodeInfo,
    position?: number,
  ): Answer {
    const nominated = this.#nominator.nominatedPodsForNode(node.name);
    const ahead =
      nominated.length === 0
        ? nominated
        : nominated.filter((p) => p.priority >= pod.priority && p.uid !== pod.uid);
    if (ahead.length > 0) {
      const stateWith = state.clone();
      const nodeWith = node.clone();
      for (const other of ahead) {
        nodeWith.addPod(other);
        const answer = this.runAddPod(stateWith, pod, other, nodeWith);
        if (answer !== undefined) return answer;
      }
      const answer = this.runFilters(filters, stateWith, pod, nodeWith);
      if (answer !== undefined) return answer;
    }
    return this.runFilters(filters, state, pod, node, position);
  }

  /**
   * Updates the PreFilter plugins' data for a pod that was added to the node (`nodeInfo` has it
   * already).
   */
  runAddPod(state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo): Answer {
    for (const plugin of this.#activePreFilters(state)) {
      const answer = plugin.addPod?.(state, pod, added, node);
      if (answer !== undefined) return asError(answer, plugin, 'PreFilter AddPod');
    }
    return undefined;
  }

  runRemovePod(state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo): Answer {
    for (const plugin of this.#activePreFilters(state)) {
      const answer = plugin.removePod?.(state, pod, removed, node);
      if (answer !== undefined) return asError(answer, plugin, 'PreFilter RemovePod');
    }
    return undefined;
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
    const start = this.now();
    const result = await this.#postFilter(state, pod, statuses);
    this.pointRan('PostFilter', codeOf(result.status), start);
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
    for (const plugin of this.#pluginsOf(state).postFilter) {
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

  /** Runs PreScore. `positions`: see runScore. */
  runPreScore(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions?: readonly number[],
  ): Answer {
    const start = this.now();
    const answer = this.#preScore(state, pod, nodes, positions);
    this.pointRan('PreScore', codeOf(answer), start);
    return answer;
  }

  #preScore(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions: readonly number[] | undefined,
  ): Answer {
    const skipped: string[] = [];
    for (const plugin of this.#pluginsOf(state).preScore) {
      const answer = plugin.preScore(state, pod, nodes, positions);
      if (answer?.code !== 'Skip') this.#wasAsked('PreScore', plugin.name, 1);
      if (answer === undefined) continue;
      if (answer.code !== 'Skip') return asError(answer, plugin, 'PreScore');
      skipped.push(plugin.name);
    }
    state.write(ACTIVE_SCORES, this.#activeOf(state).scores.of(skipped));
    return undefined;
  }

  /**
   * Returns the weighted sum of the plugins' scores for each node, in the order of `nodes`; or an
   * Error status. `positions`: of the nodes in the snapshot with that layout. The next call
   * overwrites the result.
   */
  runScore(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions?: readonly number[],
    layout?: Layout,
  ): number[] | Status {
    const start = this.now();
    const scores = this.#score(state, pod, nodes, positions, layout);
    this.pointRan('Score', scores instanceof Status ? scores.code : 'Success', start);
    return scores;
  }

  #score(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions?: readonly number[],
    layout?: Layout,
  ): number[] | Status {
    const totals = this.#totals;
    totals.length = nodes.length;
    const { all, remembered, others } =
      state.read(ACTIVE_SCORES) ?? this.#activeOf(state).scores.of([]);
    for (const { plugin } of all) this.#wasAsked('Score', plugin.name, nodes.length);
    const template =
      positions === undefined || layout === undefined ? undefined : templateOf(remembered, pod);
    const answers =
      template === undefined || layout === undefined
        ? undefined
        : this.#scoreMemo.of(template, layout);
    if (positions === undefined || answers === undefined) {
      totals.fill(0);
      return this.#addScores(all, state, pod, nodes, positions, totals) ?? totals;
    }
    for (let i = 0; i < nodes.length; i++) {
      const position = positions[i]!;
      if (!answers.has(position)) {
        const score = scoreBy(remembered, state, pod, nodes[i]!);
        if (score instanceof Status) return score;
        answers.set(position, score);
      }
      totals[i] = answers.get(position);
    }
    return this.#addScores(others, state, pod, nodes, positions, totals) ?? totals;
  }

  #addScores(
    plugins: readonly WeightedScorePlugin[],
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions: readonly number[] | undefined,
    totals: number[],
  ): Status | undefined {
    const scores = this.#scores;
    for (const { plugin, weight } of plugins) {
      scores.length = nodes.length;
      const isScored =
        positions !== undefined &&
        plugin.scoreByPosition?.(state, pod, nodes, positions, scores) === true;
      if (!isScored)
        for (let i = 0; i < nodes.length; i++) scores[i] = plugin.score(state, pod, nodes[i]!);
      if (plugin.normalizeScore !== undefined) {
        const answer = plugin.normalizeScore(state, pod, scores, nodes);
        if (answer !== undefined) return asError(answer, plugin, 'NormalizeScore');
      }
      for (let i = 0; i < nodes.length; i++) {
        const score = scores[i]!;
        if (!isScore(score)) return invalidScore(plugin, score);
        totals[i] = totals[i]! + score * weight;
      }
    }
    return undefined;
  }

  /** Runs Reserve. If a plugin fails, runUnreserve must be called. */
  runReserve(state: CycleState, pod: PodInfo, node: string): Answer {
    const start = this.now();
    const answer = this.#reserve(state, pod, node);
    this.pointRan('Reserve', codeOf(answer), start);
    return answer;
  }

  #reserve(state: CycleState, pod: PodInfo, node: string): Answer {
    for (const plugin of this.#pluginsOf(state).reserve) {
      const answer = plugin.reserve(state, pod, node);
      if (answer !== undefined)
        return answer.rejected
          ? answer.withPlugin(plugin.name)
          : asError(answer, plugin, 'Reserve');
    }
    return undefined;
  }

  /** Runs Unreserve, in the reverse order of Reserve. */
  runUnreserve(state: CycleState, pod: PodInfo, node: string): void {
    const start = this.now();
    for (const plugin of this.#pluginsOf(state).reserve.toReversed())
      plugin.unreserve(state, pod, node);
    this.pointRan('Unreserve', 'Success', start);
  }

  /** Runs Permit. A status with the code Wait: the pod waits, see waitOnPermit. */
  runPermit(state: CycleState, pod: PodInfo, node: string): Answer {
    const start = this.now();
    const answer = this.#permit(state, pod, node);
    this.pointRan('Permit', codeOf(answer), start);
    return answer;
  }

  #permit(state: CycleState, pod: PodInfo, node: string): Answer {
    let timeouts: Map<string, number> | undefined;
    for (const plugin of this.#pluginsOf(state).permit) {
      const { status, timeoutMs } = plugin.permit(state, pod, node);
      if (status === undefined) continue;
      if (status.code === 'Wait') {
        timeouts ??= new Map();
        timeouts.set(
          plugin.name,
          Math.min(timeoutMs ?? MAX_PERMIT_TIMEOUT_MS, MAX_PERMIT_TIMEOUT_MS),
        );
      } else {
        return status.rejected ? status.withPlugin(plugin.name) : asError(status, plugin, 'Permit');
      }
    }
    if (timeouts === undefined) return undefined;
    this.#waitingPods.add(new WaitingPod(pod, timeouts, this.#clock));
    return new Status('Wait', [
      `one or more plugins asked to wait and no plugin rejected pod "${pod.pod.metadata.name}"`,
    ]);
  }

  /** Waits for Permit. Returns undefined for a pod that does not wait. */
  waitOnPermit(pod: PodInfo): Promise<Answer> | undefined {
    const waiting = this.#waitingPods.get(pod.uid);
    if (waiting === undefined) return undefined;
    const start = this.now();
    void waiting.done.then((status) => this.#metrics?.permitWaited(codeOf(status), start));
    return waiting.done;
  }

  /** Returns the PreBind plugins that are needed for the pod; or a status after an error. */
  neededPreBinds(state: CycleState, pod: PodInfo, node: string): readonly PreBindPlugin[] | Status {
    let needed: PreBindPlugin[] | undefined;
    for (const plugin of this.#pluginsOf(state).preBind) {
      const answer = plugin.preBindPreFlight?.(state, pod, node);
      if (answer?.code === 'Skip') continue;
      if (answer !== undefined) return asError(answer, plugin, 'PreBindPreFlight');
      needed ??= [];
      needed.push(plugin);
    }
    return needed ?? NO_PRE_BINDS;
  }

  /** Runs PreBind. `plugins`: from neededPreBinds. */
  async runPreBind(
    plugins: readonly PreBindPlugin[],
    state: CycleState,
    pod: PodInfo,
    node: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const start = this.now();
    let outcome: Answer;
    for (const plugin of plugins) {
      const answer = await plugin.preBind(state, pod, node, signal);
      if (answer === undefined) continue;
      outcome = answer.rejected
        ? answer.withPlugin(plugin.name)
        : asError(answer, plugin, 'PreBind');
      break;
    }
    this.pointRan('PreBind', codeOf(outcome), start);
    return outcome;
  }

  /**
   * Runs Bind: the first plugin that does not skip binds. An exception becomes an Error status with
   * it as the cause.
   */
  async runBind(
    state: CycleState,
    pod: PodInfo,
    node: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const start = this.now();
    const answer = await this.#bind(state, pod, node, signal);
    this.pointRan('Bind', codeOf(answer), start);
    return answer;
  }

  async #bind(state: CycleState, pod: PodInfo, node: string, signal: AbortSignal): Promise<Answer> {
    for (const plugin of this.#pluginsOf(state).bind) {
      const answer = await bound(plugin, () => plugin.bind(state, pod, node, signal));
      if (answer?.code !== 'Skip') return answer;
    }
    return Status.error(`no Bind plugin of profile "${this.profileName}" binds pod ${pod.key}`);
  }

  runPostBind(state: CycleState, pod: PodInfo, node: string): void {
    const start = this.now();
    for (const plugin of this.#pluginsOf(state).postBind) plugin.postBind(state, pod, node);
    this.pointRan('PostBind', 'Success', start);
  }
}

/** The plugins of a profile without those that skip. */
class Active {
  readonly filters: Remainder<Filters>;
  readonly scores: Remainder<Scores>;

  constructor({ filter, preFilter, score }: PluginsByPoint) {
    this.filters = new Remainder((skipped) => ({
      filter: filter.filter(({ name }) => !skipped.has(name)),
      preFilter: preFilter.filter(({ name }) => !skipped.has(name)),
    }));
    this.scores = new Remainder((skipped) => {
      const all = score.filter(({ plugin }) => !skipped.has(plugin.name));
      const mayRemember = ({ plugin }: WeightedScorePlugin): boolean =>
        plugin.normalizeScore === undefined && plugin.scoreTemplate !== undefined;
      return {
        all,
        remembered: all.filter(mayRemember),
        others: all.filter((plugin) => !mayRemember(plugin)),
      };
    });
  }
}

/**
 * Returns a key that is equal for pods which these plugins score the same; undefined if a plugin
 * has none for this pod.
 */
function templateOf(plugins: readonly WeightedScorePlugin[], pod: PodInfo): string | undefined {
  if (plugins.length === 0) return undefined;
  let template = '';
  for (const { plugin } of plugins) {
    const own = plugin.scoreTemplate?.(pod);
    if (own === undefined) return undefined;
    template += plugin.name + SEPARATOR + own + SEPARATOR;
  }
  return template;
}

/** Returns the weighted sum of scores that need no normalization. */
function scoreBy(
  plugins: readonly WeightedScorePlugin[],
  state: CycleState,
  pod: PodInfo,
  node: NodeInfo,
): number | Status {
  let total = 0;
  for (const { plugin, weight } of plugins) {
    const score = plugin.score(state, pod, node);
    if (!isScore(score)) return invalidScore(plugin, score);
    total += score * weight;
  }
  return total;
}

function isScore(score: number): boolean {
  return score >= MIN_NODE_SCORE && score <= MAX_NODE_SCORE;
}

function invalidScore({ name }: ScorePlugin, score: number): Status {
  const range = `[${MIN_NODE_SCORE}, ${MAX_NODE_SCORE}]`;
  return Status.error(
    `plugin "${name}" returns an invalid score ${score}, it should in the range of ${range} after normalizing`,
    name,
  );
}

export const EVERY_EVENT: readonly ClusterEventWithHint[] = [
  { event: clusterEvent('*', ALL_ACTIONS, 'every event') },
];

function intersection(a: ReadonlySet<string>, b: ReadonlySet<string>): Set<string> {
  const both = new Set<string>();
  for (const name of a) if (b.has(name)) both.add(name);
  return both;
}

async function bound(plugin: Plugin, bind: () => Promise<Answer>): Promise<Answer> {
  try {
    const answer = await bind();
    return answer === undefined || answer.code === 'Skip'
      ? answer
      : asError(answer, plugin, 'Bind');
  } catch (error) {
    return asError(Status.error(error), plugin, 'Bind');
  }
}

/** Returns an Error status for an unexpected status code, with the plugin and extension point. */
function asError(status: Status, plugin: Plugin, point: string): Status {
  const what =
    point === 'Filter'
      ? `running "${plugin.name}" filter plugin`
      : `running ${point} plugin "${plugin.name}"`;
  return new Status('Error', [`${what}: ${status.message}`], plugin.name, status.cause);
}
