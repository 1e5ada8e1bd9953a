// The decision for one pod: which nodes it could run on, and which of them it gets. Nothing is changed here and nothing is
// awaited; acting on the decision is for cycle.ts.

import type { Random } from '#machinery/random.ts';
import type { SnapshotReader } from './cache/snapshot.ts';
import type { CycleState } from './framework/cycle-state.ts';
import type { Diagnosis } from './framework/fit-error.ts';
import { EXTENDERS } from './extenders/extender.ts';
import type { Extenders } from './extenders/extenders.ts';
import type { Framework, PreFilterOutcome } from './framework/framework.ts';
import type { NodeInfo } from './framework/node-info.ts';
import { layoutOf } from './framework/node-memo.ts';
import { NodeToStatus } from './framework/node-to-status.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { Status } from './framework/status.ts';

export type ScheduleResult =
  | { readonly kind: 'node'; readonly node: string; readonly evaluatedNodes: number; readonly feasibleNodes: number }
  /** There are no nodes at all. */
  | { readonly kind: 'noNodes' }
  /** No node passes. */
  | { readonly kind: 'unfit'; readonly diagnosis: Diagnosis }
  /** Something broke. */
  | { readonly kind: 'error'; readonly status: Status };

/** What plugins leave of the nodes. */
interface Found {
  readonly feasible: NodeInfo[];
  readonly statuses: NodeToStatus;
  readonly evaluatedNodes: number;
  /** All nodes were in question. */
  readonly ofAll: boolean;
  readonly narrowedBy: ReadonlySet<string>;
}

export interface SchedulingAlgorithmConfig {
  readonly snapshot: SnapshotReader;
  /** Chooses among nodes of the same score. */
  readonly random: Random;
  /** For profiles that do not say it themselves; see numFeasibleNodesToFind. Default: 0. */
  readonly percentageOfNodesToScore?: number;
}

/** At least so many feasible nodes are looked for, if there are as many nodes. */
const MIN_FEASIBLE_NODES = 100;
const MIN_FEASIBLE_PERCENTAGE = 5;

/**
 * After how many feasible nodes to stop looking. `percentage` 0: from half of the nodes, less the more there are (one percent
 * for each 125), to no less than 5%.
 */
export function numFeasibleNodesToFind(percentage: number, nodeCount: number): number {
  if (nodeCount < MIN_FEASIBLE_NODES) return nodeCount;
  const share = percentage === 0 ? Math.max(50 - Math.trunc(nodeCount / 125), MIN_FEASIBLE_PERCENTAGE) : percentage;
  return Math.max(Math.trunc((nodeCount * share) / 100), MIN_FEASIBLE_NODES);
}

const NO_PLUGINS: ReadonlySet<string> = new Set();

export class SchedulingAlgorithm {
  readonly #snapshot: SnapshotReader;
  readonly #random: Random;
  readonly #percentageOfNodesToScore: number;
  /** Where to begin looking, so that all nodes get their turn although not all are looked at. */
  #nextStart = 0;
  /** The nodes that passed in this cycle, and where they are; what is behind those is of earlier cycles. Kept, so that a cycle allocates neither. */
  readonly #feasible: NodeInfo[] = [];
  readonly #positions: number[] = [];

  constructor(config: SchedulingAlgorithmConfig) {
    this.#snapshot = config.snapshot;
    this.#random = config.random;
    this.#percentageOfNodesToScore = config.percentageOfNodesToScore ?? 0;
  }

  /** What a plugin throws is thrown. */
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
    return nodeFound(node, found.evaluatedNodes, found.feasible.length);
  }

  /** As schedule, with a say for extenders: about the nodes that the plugins leave. Rejects with what one throws that is needed. */
  async scheduleExtended(framework: Framework, state: CycleState, pod: PodInfo, extenders: Extenders): Promise<ScheduleResult> {
    const pre = this.#preFilter(framework, state, pod);
    if ('kind' in pre) return pre;
    const nominated = this.#nominatedNode(framework, state, pod, pre.nodeNames);
    if (nominated !== undefined) {
      const [kept] = await extenders.filter(pod, [nominated], new NodeToStatus());
      if (kept !== undefined) return nodeFound(kept, 1, 1);
    }
    const found = this.#look(framework, state, pod, pre, framework.plugins.score.length > 0 || extenders.narrow);
    if (found instanceof Status) return { kind: 'error', status: found };
    const left = found.feasible.length === 0 ? found.feasible : await extenders.filter(pod, found.feasible, found.statuses);
    if (left.length === 0) return this.#unfit(found, found.feasible.length > 0);
    // Positions are those of all that the plugins left.
    const ofAll = found.ofAll && left.length === found.feasible.length;
    const node = await this.#bestExtended(framework, state, pod, left, ofAll, extenders);
    if (node instanceof Status) return { kind: 'error', status: node };
    return nodeFound(node, found.evaluatedNodes, left.length);
  }

  #preFilter(framework: Framework, state: CycleState, pod: PodInfo): PreFilterOutcome | ScheduleResult {
    const all = this.#snapshot.nodes;
    if (all.length === 0) return { kind: 'noNodes' };
    const pre = framework.runPreFilter(state, pod, all);
    return pre.status === undefined ? pre : preFilterRefusal(pre.status, new NodeToStatus(), all.length);
  }

  #unfit({ statuses, narrowedBy }: Found, extended = false): ScheduleResult {
    const diagnosis = diagnosisOf(statuses, this.#snapshot.nodes.length, narrowedBy);
    if (!extended) return { kind: 'unfit', diagnosis };
    const unschedulablePlugins = new Set([...diagnosis.unschedulablePlugins, EXTENDERS]);
    return { kind: 'unfit', diagnosis: { ...diagnosis, unschedulablePlugins } };
  }

  /** `choosy`: any node is not as good as another. */
  #look(framework: Framework, state: CycleState, pod: PodInfo, pre: PreFilterOutcome, choosy: boolean): Found | Status {
    const all = this.#snapshot.nodes;
    const statuses = new NodeToStatus();
    let nodes = all;
    if (pre.nodeNames !== undefined) {
      nodes = Array.from(pre.nodeNames, (name) => this.#snapshot.get(name)).filter((node) => node !== undefined);
      const reason = `node(s) didn't satisfy plugin(s) [${[...pre.narrowedBy].sort().join(' ')}]`;
      statuses.setAbsent(new Status('UnschedulableAndUnresolvable', [reason]));
    }
    const feasible = this.#feasibleNodes(framework, state, pod, nodes, statuses, choosy);
    if (feasible instanceof Status) return feasible;
    const evaluatedNodes = feasible.length + statuses.size;
    this.#nextStart = (this.#nextStart + evaluatedNodes) % all.length;
    return { feasible, statuses, evaluatedNodes, ofAll: nodes === all, narrowedBy: pre.narrowedBy };
  }

  /** The node that was promised to the pod, if it passes: room was made for the pod there. */
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
    const answer = framework.runFiltersWithNominatedPods(framework.activeFilters(state), state, pod, node);
    return answer === undefined ? node : undefined;
  }

  /** The nodes that pass, until there are enough; why each other node that was looked at does not, in `statuses`. */
  #feasibleNodes(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    statuses: NodeToStatus,
    choosy: boolean,
  ): NodeInfo[] | Status {
    const percentage = framework.percentageOfNodesToScore ?? this.#percentageOfNodesToScore;
    const wanted = choosy ? numFeasibleNodesToFind(percentage, nodes.length) : 1;
    const filters = framework.activeFilters(state);
    const filter = nodes === this.#snapshot.nodes ? framework.nodeFilter(state, pod, this.#snapshot) : undefined;
    const start = framework.now();
    const feasible = this.#feasible;
    const positions = this.#positions;
    let passed = 0;
    const answers = filter?.answers;
    const own = filter?.own ?? -1;
    const first = this.#nextStart % nodes.length;
    let looked = 0;
    let known = 0;
    const refused = new Refusals();
    for (let position = first; looked < nodes.length && passed < wanted; looked++) {
      const node = nodes[position] as NodeInfo;
      const answer =
        filter === undefined
          ? framework.runFiltersWithNominatedPods(filters, state, pod, node)
          : framework.runNodeFilter(filter, state, pod, node, position);
      if (answer === undefined) {
        positions[passed] = position;
        feasible[passed++] = node;
      } else if (answer.code === 'Error') {
        framework.pointRan('Filter', answer.code, start);
        return answer;
      } else if (answers !== undefined && position !== own && answers.get(position) === answer) {
        known++;
        // Where nodes are full, there are mostly many of them one after the other.
        const end = Math.min(nodes.length, position + nodes.length - looked);
        const run = answers.runFrom(position + 1, own > position ? Math.min(own, end) : end);
        known += run;
        looked += run;
        position += run;
        refused.add(answer, 1 + run);
      } else {
        statuses.set(node, answer, filter === undefined ? undefined : position);
        refused.add(answer, 1);
      }
      if (++position === nodes.length) position = 0;
    }
    if (answers !== undefined) {
      statuses.setKnown({ snapshot: this.#snapshot, answers, start: first, count: looked, refused: known, own });
    }
    feasible.length = passed;
    framework.nodesLookedAt(state, looked, refused.byPlugin());
    framework.pointRan('Filter', passed === 0 ? 'Unschedulable' : 'Success', start);
    return feasible;
  }

  /** One of the nodes with the highest score, any of them as likely. `ofAll`: #positions are those of the snapshot. */
  #best(framework: Framework, state: CycleState, pod: PodInfo, feasible: readonly NodeInfo[], ofAll: boolean): NodeInfo | Status {
    if (feasible.length === 1) return feasible[0] as NodeInfo;
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
    if (feasible.length === 1) return feasible[0] as NodeInfo;
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
    const refused = framework.runPreScore(state, pod, feasible);
    if (refused !== undefined) return refused;
    return ofAll
      ? framework.runScore(state, pod, feasible, this.#positions, layoutOf(this.#snapshot))
      : framework.runScore(state, pod, feasible);
  }

  #highest(feasible: readonly NodeInfo[], scores: readonly number[]): NodeInfo {
    let highest = -Infinity;
    let ties = 0;
    for (let i = 0; i < scores.length; i++) {
      const score = scores[i] as number;
      if (score > highest) {
        highest = score;
        ties = 1;
      } else if (score === highest) ties++;
    }
    let skip = ties === 1 ? 0 : this.#random.int(ties);
    let index = 0;
    while (scores[index] !== highest || skip-- > 0) index++;
    return feasible[index] as NodeInfo;
  }
}

/** How many nodes were refused by which plugin. */
class Refusals {
  readonly #byPlugin = new Map<string, number>();
  /** Not yet in #byPlugin: mostly, many nodes one after the other are refused by the same. */
  #plugin: string | undefined;
  #times = 0;

  add({ plugin }: Status, times: number): void {
    if (plugin !== this.#plugin) {
      this.byPlugin();
      this.#plugin = plugin;
    }
    this.#times += times;
  }

  byPlugin(): ReadonlyMap<string, number> {
    const plugin = this.#plugin ?? '';
    if (this.#times > 0) this.#byPlugin.set(plugin, (this.#byPlugin.get(plugin) ?? 0) + this.#times);
    this.#times = 0;
    return this.#byPlugin;
  }
}

function nodeFound(node: NodeInfo, evaluatedNodes: number, feasibleNodes: number): ScheduleResult {
  return { kind: 'node', node: node.name, evaluatedNodes, feasibleNodes };
}

function preFilterRefusal(status: Status, statuses: NodeToStatus, nodeCount: number): ScheduleResult {
  if (!status.rejected) return { kind: 'error', status };
  // Every node is refused with it, for whoever asks about single nodes; the message says it once.
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

/** `narrowedBy`: plugins that ruled nodes out before they were looked at. */
export function diagnosisOf(statuses: NodeToStatus, nodeCount: number, narrowedBy: ReadonlySet<string> = NO_PLUGINS): Diagnosis {
  const unschedulablePlugins = new Set(narrowedBy);
  const pendingPlugins = new Set<string>();
  for (const { plugin, code } of statuses.counts().keys()) {
    if (plugin !== undefined) (code === 'Pending' ? pendingPlugins : unschedulablePlugins).add(plugin);
  }
  return { nodeCount, statuses, unschedulablePlugins, pendingPlugins, preFilterMessage: '', postFilterMessage: '' };
}
