// The decision for one pod: its feasible nodes, and the chosen one. It changes nothing and awaits
// nothing; schedule-one.ts acts on the decision.

import type { Random } from '#machinery/random.ts';
import { type NodeScore, topScores } from './decisions.ts';
import type { SnapshotReader } from './framework/snapshot.ts';
import { type CycleState, type StateKey, stateKey } from './framework/cycle-state.ts';
import type { Diagnosis } from './framework/fit-error.ts';
import { EXTENDERS } from './framework/extender.ts';
import type { Extenders } from './extenders/extenders.ts';
import type { NodeFilter, PreFilterOutcome } from './framework/filtering.ts';
import type { Framework } from './framework/framework.ts';
import type { NodeInfo } from './framework/node-info.ts';
import { layoutOf } from './framework/node-memo.ts';
import { NodeToStatus } from './framework/node-to-status.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { Status } from './framework/status.ts';
import { untilFinished } from './framework/unfinished.ts';

export type ScheduleResult =
  | {
      readonly kind: 'node';
      readonly node: string;
      readonly evaluatedNodes: number;
      readonly feasibleNodes: number;
      /** The highest scores, if they were wanted. */
      readonly scores: readonly NodeScore[];
    }
  /** The cluster has no nodes. */
  | { readonly kind: 'noNodes' }
  /** No node is feasible. */
  | { readonly kind: 'unfit'; readonly diagnosis: Diagnosis }
  /** An error occurred. */
  | { readonly kind: 'error'; readonly status: Status };

/** The nodes that plugins allow. */
interface Found {
  readonly feasible: NodeInfo[];
  readonly statuses: NodeToStatus;
  readonly evaluatedNodes: number;
  /** All nodes were candidates. */
  readonly ofAll: boolean;
  readonly narrowedBy: ReadonlySet<string>;
}

export interface SchedulingAlgorithmConfig {
  readonly snapshot: SnapshotReader;
  /** Chooses among nodes of the same score. */
  readonly random: Random;
  /** The value for profiles without their own; see numFeasibleNodesToFind. Default: 0. */
  readonly percentageOfNodesToScore?: number;
  /** Reports whether results shall have scores. Default: they have none. */
  readonly wantsScores?: () => boolean;
}

/** The minimum number of feasible nodes to find, if there are as many nodes. */
const MIN_FEASIBLE_NODES = 100;
const MIN_FEASIBLE_PERCENTAGE = 5;

/**
 * Returns the number of feasible nodes after which the search stops. `percentage` 0: from half of
 * the nodes, decreasing with their number (one percent for each 125), to no less than 5%.
 */
export function numFeasibleNodesToFind(percentage: number, nodeCount: number): number {
  if (nodeCount < MIN_FEASIBLE_NODES) return nodeCount;
  const share =
    percentage === 0
      ? Math.max(50 - Math.trunc(nodeCount / 125), MIN_FEASIBLE_PERCENTAGE)
      : percentage;
  return Math.max(Math.trunc((nodeCount * share) / 100), MIN_FEASIBLE_NODES);
}

/** The outcome of PreFilter, for a cycle that continues (Unfinished). */
const PRE_FILTERED: StateKey<PreFilterOutcome> = stateKey('algorithm/pre-filtered');

const NO_PLUGINS: ReadonlySet<string> = new Set();
const NO_SCORES: readonly NodeScore[] = [];

export class SchedulingAlgorithm {
  readonly #snapshot: SnapshotReader;
  readonly #random: Random;
  readonly #percentageOfNodesToScore: number;
  readonly #wantsScores: (() => boolean) | undefined;
  /** The highest scores of the current decision, if they are wanted. */
  #top: readonly NodeScore[] = NO_SCORES;
  /**
   * The index of the node at which the next search begins, so that all nodes are considered
   * although not all are evaluated.
   */
  #nextStart = 0;
  readonly #search = new NodeSearch();

  constructor(config: SchedulingAlgorithmConfig) {
    this.#snapshot = config.snapshot;
    this.#random = config.random;
    this.#percentageOfNodesToScore = config.percentageOfNodesToScore ?? 0;
    this.#wantsScores = config.wantsScores;
  }

  /**
   * Schedules the pod. Exceptions of plugins are thrown; after Unfinished, the next call with the
   * same state continues.
   */
  schedule(framework: Framework, state: CycleState, pod: PodInfo): ScheduleResult {
    const pre = this.#preFilter(framework, state, pod);
    if ('kind' in pre) return pre;
    const nominated = this.#nominatedNode(framework, state, pod, pre.nodeNames);
    if (nominated !== undefined) return nodeFound(nominated, 1, 1);
    const found = this.#look(framework, state, pod, pre, framework.plugins.score.length > 0);
    if (found instanceof Status) return { kind: 'error', status: found };
    if (found.feasible.length === 0) return this.#unfit(found);
    const node = this.#best(framework, state, pod, found.feasible, found.ofAll);
    if (node instanceof Status) return { kind: 'error', status: node };
    return nodeFound(node, found.evaluatedNodes, found.feasible.length, this.#top);
  }

  /**
   * Schedules the pod with extenders, which are called with the nodes that the plugins leave.
   * Rejects with the error of a required extender.
   */
  async scheduleExtended(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    extenders: Extenders,
  ): Promise<ScheduleResult> {
    const pre = this.#preFilter(framework, state, pod);
    if ('kind' in pre) return pre;
    const nominated = await untilFinished(() =>
      this.#nominatedNode(framework, state, pod, pre.nodeNames),
    );
    if (nominated !== undefined) {
      const [kept] = await extenders.filter(pod, [nominated], new NodeToStatus());
      if (kept !== undefined) return nodeFound(kept, 1, 1);
    }
    const scoringNeeded = framework.plugins.score.length > 0 || extenders.narrow;
    const found = await untilFinished(() => this.#look(framework, state, pod, pre, scoringNeeded));
    if (found instanceof Status) return { kind: 'error', status: found };
    const left =
      found.feasible.length === 0
        ? found.feasible
        : await extenders.filter(pod, found.feasible, found.statuses);
    if (left.length === 0) return this.#unfit(found, found.feasible.length > 0);
    // Positions refer to the complete list that the plugins left.
    const ofAll = found.ofAll && left.length === found.feasible.length;
    const node = await this.#bestExtended(framework, state, pod, left, ofAll, extenders);
    if (node instanceof Status) return { kind: 'error', status: node };
    return nodeFound(node, found.evaluatedNodes, left.length, this.#top);
  }

  #preFilter(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
  ): PreFilterOutcome | ScheduleResult {
    const all = this.#snapshot.nodes;
    if (all.length === 0) return { kind: 'noNodes' };
    const begun = state.read(PRE_FILTERED);
    if (begun !== undefined) return begun;
    const pre = framework.filtering.runPreFilter(state, pod, all);
    if (pre.status === undefined) state.write(PRE_FILTERED, pre);
    return pre.status === undefined
      ? pre
      : preFilterRefusal(pre.status, new NodeToStatus(), all.length);
  }

  #unfit({ statuses, narrowedBy }: Found, extended = false): ScheduleResult {
    const diagnosis = diagnosisOf(statuses, this.#snapshot.nodes.length, narrowedBy);
    if (!extended) return { kind: 'unfit', diagnosis };
    const unschedulablePlugins = new Set([...diagnosis.unschedulablePlugins, EXTENDERS]);
    return { kind: 'unfit', diagnosis: { ...diagnosis, unschedulablePlugins } };
  }

  /**
   * Searches feasible nodes. `scoringNeeded`: nodes will be scored or filtered further, so one
   * feasible node is not enough.
   */
  #look(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    pre: PreFilterOutcome,
    scoringNeeded: boolean,
  ): Found | Status {
    const all = this.#snapshot.nodes;
    const statuses = new NodeToStatus();
    let nodes = all;
    if (pre.nodeNames !== undefined) {
      nodes = Array.from(pre.nodeNames, (name) => this.#snapshot.get(name)).filter(
        (node) => node !== undefined,
      );
      const reason = `node(s) didn't satisfy plugin(s) [${[...pre.narrowedBy].sort().join(' ')}]`;
      statuses.setAbsent(new Status('UnschedulableAndUnresolvable', [reason]));
    }
    const feasible = this.#feasibleNodes(framework, state, pod, nodes, statuses, scoringNeeded);
    if (feasible instanceof Status) return feasible;
    const evaluatedNodes = feasible.length + statuses.size;
    this.#nextStart = (this.#nextStart + evaluatedNodes) % all.length;
    return { feasible, statuses, evaluatedNodes, ofAll: nodes === all, narrowedBy: pre.narrowedBy };
  }

  /** Returns the pod's nominated node if it passes: preemption made room there. */
  #nominatedNode(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    among: ReadonlySet<string> | undefined,
  ): NodeInfo | undefined {
    const name = pod.pod.status.nominatedNodeName;
    if (!name || (among !== undefined && !among.has(name))) return undefined;
    const node = this.#snapshot.get(name);
    if (node === undefined) return undefined;
    const answer = framework.filtering.runFiltersWithNominatedPods(
      framework.filtering.activeFilters(state),
      state,
      pod,
      node,
    );
    return answer === undefined ? node : undefined;
  }

  /**
   * Returns feasible nodes, until there are enough; the other evaluated nodes are added to
   * `statuses`.
   */
  #feasibleNodes(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    statuses: NodeToStatus,
    scoringNeeded: boolean,
  ): NodeInfo[] | Status {
    const percentage = framework.percentageOfNodesToScore ?? this.#percentageOfNodesToScore;
    const search = this.#search;
    search.begin(scoringNeeded ? numFeasibleNodesToFind(percentage, nodes.length) : 1, statuses);
    const began = framework.now();
    const first = this.#nextStart % nodes.length;
    let error: Status | undefined;
    if (nodes === this.#snapshot.nodes) {
      const filter = framework.filtering.nodeFilter(state, pod, this.#snapshot);
      const { answers, nominatedPosition } = filter;
      error =
        this.#searchSnapshot(framework, filter, state, pod, first, nodes.length) ??
        this.#searchSnapshot(framework, filter, state, pod, 0, first);
      if (answers !== undefined && error === undefined) {
        const { evaluated, rememberedRejections } = search;
        statuses.setKnown({
          snapshot: this.#snapshot,
          answers,
          start: first,
          count: evaluated,
          refused: rememberedRejections,
          nominatedPosition,
        });
      }
    } else {
      error =
        this.#searchList(framework, state, pod, nodes, first, nodes.length) ??
        this.#searchList(framework, state, pod, nodes, 0, first);
    }
    if (error !== undefined) {
      framework.pointRan('Filter', error.code, began);
      return error;
    }
    const feasible = search.end();
    framework.filtering.nodesLookedAt(state, search.evaluated, search.rejectionsByPlugin());
    framework.pointRan('Filter', feasible.length === 0 ? 'Unschedulable' : 'Success', began);
    return feasible;
  }

  /**
   * Evaluates the positions [from, to) of a list of nodes, until enough are feasible. Returns the
   * status of an error.
   */
  #searchList(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    from: number,
    to: number,
  ): Status | undefined {
    const search = this.#search;
    const filters = framework.filtering.activeFilters(state);
    for (let position = from; position < to && !search.enough; position++) {
      const node = nodes[position]!;
      const answer = framework.filtering.runFiltersWithNominatedPods(filters, state, pod, node);
      if (answer === undefined) search.pass(node, position);
      else if (answer.code === 'Error') return answer;
      else search.reject(node, answer);
    }
    return undefined;
  }

  /**
   * Evaluates positions of the snapshot, like #searchList: remembered results are not computed
   * again.
   */
  #searchSnapshot(
    framework: Framework,
    filter: NodeFilter,
    state: CycleState,
    pod: PodInfo,
    from: number,
    to: number,
  ): Status | undefined {
    const search = this.#search;
    const { nodes } = this.#snapshot;
    const { answers, nominatedPosition } = filter;
    let position = from;
    while (position < to && !search.enough) {
      const node = nodes[position]!;
      const answer = framework.filtering.runNodeFilter(filter, state, pod, node, position);
      if (answer === undefined) {
        search.pass(node, position++);
      } else if (answer.code === 'Error') {
        return answer;
      } else if (
        answers !== undefined &&
        position !== nominatedPosition &&
        answers.get(position) === answer
      ) {
        // Full nodes are often adjacent: a whole run of remembered rejections is handled at once.
        const end = nominatedPosition > position ? Math.min(nominatedPosition, to) : to;
        const run = 1 + answers.runFrom(position + 1, end);
        search.rejectRemembered(answer, run);
        position += run;
      } else {
        search.reject(node, answer, position++);
      }
    }
    return undefined;
  }

  /**
   * Returns one of the nodes with the highest score, each with the same probability. `ofAll`: the
   * search was over the snapshot.
   */
  #best(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    feasible: readonly NodeInfo[],
    ofAll: boolean,
  ): NodeInfo | Status {
    this.#top = NO_SCORES;
    if (feasible.length === 1) return feasible[0]!;
    const scores = this.#scores(framework, state, pod, feasible, ofAll);
    return scores instanceof Status ? scores : this.#highest(feasible, scores);
  }

  async #bestExtended(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    feasible: readonly NodeInfo[],
    ofAll: boolean,
    extenders: Extenders,
  ): Promise<NodeInfo | Status> {
    this.#top = NO_SCORES;
    if (feasible.length === 1) return feasible[0]!;
    const scores = this.#scores(framework, state, pod, feasible, ofAll);
    if (scores instanceof Status) return scores;
    await extenders.addScores(pod, feasible, scores);
    return this.#highest(feasible, scores);
  }

  #scores(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    feasible: readonly NodeInfo[],
    ofAll: boolean,
  ): number[] | Status {
    const positions = ofAll ? this.#search.positions : undefined;
    const refused = framework.scoring.runPreScore(state, pod, feasible, positions);
    if (refused !== undefined) return refused;
    return ofAll
      ? framework.scoring.runScore(state, pod, feasible, positions, layoutOf(this.#snapshot))
      : framework.scoring.runScore(state, pod, feasible);
  }

  #highest(feasible: readonly NodeInfo[], scores: readonly number[]): NodeInfo {
    if (this.#wantsScores?.() === true) this.#top = topScores(feasible, scores);
    let highest = -Infinity;
    let ties = 0;
    for (let i = 0; i < scores.length; i++) {
      const score = scores[i]!;
      if (score > highest) {
        highest = score;
        ties = 1;
      } else if (score === highest) ties++;
    }
    let skip = ties === 1 ? 0 : this.#random.int(ties);
    let index = 0;
    while (scores[index] !== highest || skip-- > 0) index++;
    return feasible[index]!;
  }
}

/** The state of one search for feasible nodes. Reused, so that a cycle allocates no arrays. */
class NodeSearch {
  /**
   * The feasible nodes, and their positions in the searched list. Elements beyond #passed are of
   * earlier searches.
   */
  readonly #feasible: NodeInfo[] = [];
  readonly positions: number[] = [];
  #passed = 0;
  #wanted = 0;
  /** Nodes that have passed or were rejected. */
  evaluated = 0;
  /** Rejected nodes that are not in #statuses by name: the filter remembers their status. */
  rememberedRejections = 0;
  #statuses = new NodeToStatus();
  #byPlugin = new Map<string, number>();
  /**
   * Rejections that are not yet in #byPlugin: usually, the same plugin rejects many adjacent nodes.
   */
  #lastPlugin: string | undefined;
  #lastCount = 0;

  begin(wanted: number, statuses: NodeToStatus): void {
    this.#wanted = wanted;
    this.#statuses = statuses;
    this.#passed = 0;
    this.evaluated = 0;
    this.rememberedRejections = 0;
    this.#byPlugin = new Map();
    this.#lastPlugin = undefined;
    this.#lastCount = 0;
  }

  /** Reports whether enough nodes have passed. */
  get enough(): boolean {
    return this.#passed >= this.#wanted;
  }

  pass(node: NodeInfo, position: number): void {
    this.positions[this.#passed] = position;
    this.#feasible[this.#passed++] = node;
    this.evaluated++;
  }

  /** Records a rejection. `position`: of the node in the snapshot, if known. */
  reject(node: NodeInfo, status: Status, position?: number): void {
    this.#statuses.set(node, status, position);
    this.#count(status, 1);
  }

  /** Counts adjacent nodes whose rejection the filter remembers. */
  rejectRemembered(first: Status, nodes: number): void {
    this.rememberedRejections += nodes;
    this.#count(first, nodes);
  }

  /** Returns the feasible nodes. The next search overwrites them. */
  end(): NodeInfo[] {
    this.#feasible.length = this.#passed;
    return this.#feasible;
  }

  /** Returns the number of nodes that each plugin has rejected. */
  rejectionsByPlugin(): ReadonlyMap<string, number> {
    const plugin = this.#lastPlugin ?? '';
    if (this.#lastCount > 0)
      this.#byPlugin.set(plugin, (this.#byPlugin.get(plugin) ?? 0) + this.#lastCount);
    this.#lastCount = 0;
    return this.#byPlugin;
  }

  #count({ plugin }: Status, nodes: number): void {
    this.evaluated += nodes;
    if (plugin !== this.#lastPlugin) {
      this.rejectionsByPlugin();
      this.#lastPlugin = plugin;
    }
    this.#lastCount += nodes;
  }
}

function nodeFound(
  node: NodeInfo,
  evaluatedNodes: number,
  feasibleNodes: number,
  scores: readonly NodeScore[] = NO_SCORES,
): ScheduleResult {
  return { kind: 'node', node: node.name, evaluatedNodes, feasibleNodes, scores };
}

function preFilterRefusal(
  status: Status,
  statuses: NodeToStatus,
  nodeCount: number,
): ScheduleResult {
  if (!status.rejected) return { kind: 'error', status };
  // Every node has this status in lookups of single nodes; the message contains it once.
  statuses.setAbsent(status);
  const plugins = new Set(status.plugin === undefined ? [] : [status.plugin]);
  const pending = status.code === 'Pending';
  const diagnosis: Diagnosis = {
    nodeCount,
    statuses,
    unschedulablePlugins: pending ? NO_PLUGINS : plugins,
    pendingPlugins: pending ? plugins : NO_PLUGINS,
    preFilterMessage: status.message,
    postFilterMessage: '',
  };
  return { kind: 'unfit', diagnosis };
}

/** Returns the diagnosis. `narrowedBy`: plugins that excluded nodes before their evaluation. */
export function diagnosisOf(
  statuses: NodeToStatus,
  nodeCount: number,
  narrowedBy: ReadonlySet<string> = NO_PLUGINS,
): Diagnosis {
  const unschedulablePlugins = new Set(narrowedBy);
  const pendingPlugins = new Set<string>();
  for (const { plugin, code } of statuses.counts().keys()) {
    if (plugin !== undefined)
      (code === 'Pending' ? pendingPlugins : unschedulablePlugins).add(plugin);
  }
  return {
    nodeCount,
    statuses,
    unschedulablePlugins,
    pendingPlugins,
    preFilterMessage: '',
    postFilterMessage: '',
  };
}
