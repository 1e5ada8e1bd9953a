// Filtering: which nodes are feasible for a pod. The PreFilter and Filter plugins of one profile, with nominated pods
// and remembered results.

import type { CycleState } from './cycle-state.ts';
import type { PodNominator } from './handle.ts';
import type { NodeInfo } from './node-info.ts';
import { layoutOf, type NodeAnswers, NodeMemo } from './node-memo.ts';
import type { Answer, FilterPlugin } from './plugin.ts';
import { asError, type PluginCalls, SEPARATOR } from './plugin-calls.ts';
import type { PodInfo } from './pod-info.ts';
import type { SnapshotReader } from './snapshot.ts';
import { codeOf, Status } from './status.ts';
import { TemplateTexts } from './template-texts.ts';

export interface PreFilterOutcome {
  /** Set if the pod was rejected, or after an error. */
  readonly status: Answer;
  /** Set if only these nodes are candidates. */
  readonly nodeNames: ReadonlySet<string> | undefined;
  /** The plugins that restricted the nodes. */
  readonly narrowedBy: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

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

export class Filtering {
  readonly #calls: PluginCalls;
  readonly #nominator: PodNominator;
  readonly #memo = new NodeMemo<Answer>(undefined);
  readonly #templates = new TemplateTexts();

  constructor(calls: PluginCalls, nominator: PodNominator) {
    this.#calls = calls;
    this.#nominator = nominator;
  }

  /**
   * Records the number of nodes evaluated for the pod of this cycle. `refused`: how many of them
   * each plugin rejected.
   */
  nodesLookedAt(state: CycleState, count: number, refused: ReadonlyMap<string, number>): void {
    let left = count;
    for (const { name } of this.#calls.activeFilters(state)) {
      this.#calls.wasAsked('Filter', name, left);
      // The next plugin is not called for rejected nodes.
      left -= refused.get(name) ?? 0;
    }
  }

  runPreFilter(state: CycleState, pod: PodInfo, nodes: readonly NodeInfo[]): PreFilterOutcome {
    this.#calls.begin(state);
    const start = this.#calls.now();
    const outcome = this.#preFilter(state, pod, nodes);
    this.#calls.pointRan('PreFilter', codeOf(outcome.status), start);
    return outcome;
  }

  #preFilter(state: CycleState, pod: PodInfo, nodes: readonly NodeInfo[]): PreFilterOutcome {
    const plugins = this.#calls.of(state);
    let nodeNames: Set<string> | undefined;
    let narrowedBy: Set<string> | undefined;
    const skipped: string[] = [];
    let refusal: Status | undefined;
    for (const plugin of plugins.preFilter) {
      const answer = plugin.preFilter(state, pod, nodes);
      if (!(answer instanceof Status && answer.code === 'Skip'))
        this.#calls.wasAsked('PreFilter', plugin.name, 1);
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
    this.#calls.skipFilters(state, skipped);
    return { status: refusal, nodeNames, narrowedBy: narrowedBy ?? NONE };
  }

  /**
   * Returns the Filter plugins that apply to the pod of this cycle. Must be called after
   * runPreFilter.
   */
  activeFilters(state: CycleState): readonly FilterPlugin[] {
    return this.#calls.activeFilters(state);
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
    const filters = this.#calls.activeFilters(state);
    // The first rejection decides: results of plugins after one that must be called cannot be
    // remembered before it. The priority is part of the template, because it decides which
    // nominated pods count.
    let template = this.#templates.begin(String(pod.priority));
    let count = 0;
    for (const plugin of filters) {
      const own = plugin.filterTemplate?.(pod);
      if (own === undefined) break;
      template = this.#templates.with(template, plugin.name, own);
      count++;
    }
    const answers = count === 0 ? undefined : this.#memo.of(template.text, layoutOf(snapshot));
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

  /**
   * Returns a key that is equal for pods which all plugins filter the same; undefined if a plugin
   * has none for this pod.
   */
  wholeTemplate(state: CycleState, pod: PodInfo): string | undefined {
    const preFilters = this.#calls.activePreFilters(state);
    if (preFilters.some((plugin) => plugin.addPod !== undefined)) return undefined;
    let template = '';
    for (const plugin of this.#calls.activeFilters(state)) {
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
    for (const plugin of this.#calls.activePreFilters(state)) {
      const answer = plugin.addPod?.(state, pod, added, node);
      if (answer !== undefined) return asError(answer, plugin, 'PreFilter AddPod');
    }
    return undefined;
  }

  runRemovePod(state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo): Answer {
    for (const plugin of this.#calls.activePreFilters(state)) {
      const answer = plugin.removePod?.(state, pod, removed, node);
      if (answer !== undefined) return asError(answer, plugin, 'PreFilter RemovePod');
    }
    return undefined;
  }
}

function intersection(a: ReadonlySet<string>, b: ReadonlySet<string>): Set<string> {
  const both = new Set<string>();
  for (const name of a) if (b.has(name)) both.add(name);
  return both;
}
