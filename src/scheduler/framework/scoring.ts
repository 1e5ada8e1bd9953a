// Scoring: how good each feasible node is for a pod. The PreScore and Score plugins of one profile, with remembered
// results.

import type { CycleState } from './cycle-state.ts';
import type { NodeInfo } from './node-info.ts';
import { type Layout, NodeMemo } from './node-memo.ts';
import {
  type Answer,
  MAX_NODE_SCORE,
  MIN_NODE_SCORE,
  type ScorePlugin,
  type WeightedScorePlugin,
} from './plugin.ts';
import { asError, type PluginCalls } from './plugin-calls.ts';
import type { PodInfo } from './pod-info.ts';
import { codeOf, Status } from './status.ts';
import { TemplateTexts } from './template-texts.ts';

export class Scoring {
  readonly #calls: PluginCalls;
  /**
   * The scores of one plugin, and the sums. Reused, so that a cycle allocates no arrays for them.
   */
  readonly #scores: number[] = [];
  readonly #totals: number[] = [];
  readonly #memo = new NodeMemo<number>(0);
  readonly #templates = new TemplateTexts();

  constructor(calls: PluginCalls) {
    this.#calls = calls;
  }

  /** Returns the Score plugins that apply to the pod of this cycle, with their weights. After runPreScore. */
  activeScores(state: CycleState): readonly WeightedScorePlugin[] {
    return this.#calls.activeScores(state).all;
  }

  /** Runs PreScore. `positions`: see runScore. */
  runPreScore(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions?: readonly number[],
  ): Answer {
    const start = this.#calls.now();
    const answer = this.#preScore(state, pod, nodes, positions);
    this.#calls.pointRan('PreScore', codeOf(answer), start);
    return answer;
  }

  #preScore(
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions: readonly number[] | undefined,
  ): Answer {
    const skipped: string[] = [];
    for (const plugin of this.#calls.of(state).preScore) {
      const answer = plugin.preScore(state, pod, nodes, positions);
      if (answer?.code !== 'Skip') this.#calls.wasAsked('PreScore', plugin.name, 1);
      if (answer === undefined) continue;
      if (answer.code !== 'Skip') return asError(answer, plugin, 'PreScore');
      skipped.push(plugin.name);
    }
    this.#calls.skipScores(state, skipped);
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
    const start = this.#calls.now();
    const scores = this.#score(state, pod, nodes, positions, layout);
    this.#calls.pointRan('Score', scores instanceof Status ? scores.code : 'Success', start);
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
    const { all, remembered, others } = this.#calls.activeScores(state);
    for (const { plugin } of all) this.#calls.wasAsked('Score', plugin.name, nodes.length);
    const template =
      positions === undefined || layout === undefined
        ? undefined
        : this.#templateOf(remembered, pod);
    const answers =
      template === undefined || layout === undefined ? undefined : this.#memo.of(template, layout);
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

  /**
   * Returns a key that is equal for pods which these plugins score the same; undefined if a plugin
   * has none for this pod.
   */
  #templateOf(plugins: readonly WeightedScorePlugin[], pod: PodInfo): string | undefined {
    if (plugins.length === 0) return undefined;
    let template = this.#templates.begin('');
    for (const { plugin } of plugins) {
      const own = plugin.scoreTemplate?.(pod);
      if (own === undefined) return undefined;
      template = this.#templates.with(template, plugin.name, own);
    }
    return template.text;
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
