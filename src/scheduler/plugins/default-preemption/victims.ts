// Selects the victims on a node whose removal lets a pod fit there, and the best of several
// candidate nodes.

import type { CycleState } from '#scheduler/framework/cycle-state.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import type { Trial } from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { Status } from '#scheduler/framework/status.ts';
import type { DisruptionBudgets } from './disruption-budgets.ts';

/** The victims on a node. */
export interface Victims {
  /** The most important pod first. */
  readonly pods: readonly PodInfo[];
  /** The number of victims whose eviction violates a disruption budget. */
  readonly violations: number;
}

/** A node with its victims. Computed once per node, and compared for every pod. */
export interface Candidate {
  readonly node: string;
  /** Has at least one victim. */
  readonly victims: Victims;
  readonly price: Price;
}

export function candidateOf(node: string, victims: Victims): Candidate {
  return { node, victims, price: priceOf(victims) };
}

export const NO_VICTIMS = new Status('UnschedulableAndUnresolvable', [
  'No preemption victims found for incoming pod',
]);

/** Reports whether the node has a less important pod; if not, preemption cannot help. */
export function hasVictims(pod: PodInfo, { pods }: NodeInfo): boolean {
  for (const other of pods) if (other.priority < pod.priority) return true;
  return false;
}

/**
 * Returns the smallest set of victims: starting with all pods of lower priority removed, pods are
 * added back while the pod still fits, first those that their disruption budgets protect, each time
 * the most important first. There must be some: see hasVictims. Changes `state` and `node`. Returns
 * a status if the pod would not fit even without all of them.
 */
export function selectVictims(
  state: CycleState,
  pod: PodInfo,
  node: NodeInfo,
  trial: Trial,
  budgets: Pick<DisruptionBudgets, 'split'>,
): Victims | Status {
  const lower = node.pods.filter((other) => other.priority < pod.priority);
  for (const other of lower) {
    const failed = remove(state, pod, other, node, trial);
    if (failed !== undefined) return failed;
  }
  const refused = trial.filter(state, pod, node);
  if (refused !== undefined) return refused;
  const { violating, others } = budgets.split(lower.sort(byImportance));
  const pods: PodInfo[] = [];
  let violations = 0;
  for (const group of [violating, others]) {
    for (const other of group) {
      node.addPod(other);
      const failed = trial.addPod(state, pod, other, node);
      if (failed !== undefined) return failed;
      if (trial.filter(state, pod, node) === undefined) continue;
      const again = remove(state, pod, other, node, trial);
      if (again !== undefined) return again;
      pods.push(other);
    }
    if (group === violating) violations = pods.length;
  }
  return { pods: violations > 0 ? pods.sort(byImportance) : pods, violations };
}

function remove(
  state: CycleState,
  pod: PodInfo,
  other: PodInfo,
  node: NodeInfo,
  trial: Trial,
): Status | undefined {
  node.removePod(other.uid);
  return trial.removePod(state, pod, other, node);
}

/** Orders pods: higher priority first; with equal priority, the earlier start. */
export function byImportance(a: PodInfo, b: PodInfo): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  const [startA, startB] = [startOf(a.pod), startOf(b.pod)];
  return startA === startB ? 0 : startA < startB ? -1 : 1;
}

/**
 * Returns the start time as text; texts of equal format compare like times. A pod that has not
 * started comes last.
 */
function startOf(pod?: Pod): string {
  return pod?.status.startTime || '~';
}

/** The criteria by which candidates are compared. */
interface Price {
  readonly violations: number;
  /** The highest priority of the victims. */
  readonly highest: number;
  readonly sum: number;
  readonly count: number;
  /** The earliest start time of the victims with the highest priority. */
  readonly earliest: string;
}

function priceOf(victims: Victims): Price {
  let [highest, sum, earliest] = [-Infinity, 0, startOf()];
  for (const { priority, pod } of victims.pods) {
    const start = startOf(pod);
    if (priority > highest) [highest, earliest] = [priority, start];
    else if (priority === highest && start < earliest) earliest = start;
    // Shifted, so that few pods with a negative priority are not worse than many.
    sum += priority + 2 ** 31;
  }
  return { violations: victims.violations, highest, sum, count: victims.pods.length, earliest };
}

/**
 * Compares candidates; negative: `a` is better. The criteria: the fewest budget violations, the
 * lowest highest priority, the smallest sum of priorities, the fewest victims, and the latest start
 * of the most important victims.
 */
function comparePrices(a: Price, b: Price): number {
  if (a.violations !== b.violations) return a.violations - b.violations;
  if (a.highest !== b.highest) return a.highest - b.highest;
  if (a.sum !== b.sum) return a.sum - b.sum;
  if (a.count !== b.count) return a.count - b.count;
  return a.earliest === b.earliest ? 0 : a.earliest > b.earliest ? -1 : 1;
}

/** Returns the first of the best candidates. `candidates` is not empty. */
export function bestCandidate(candidates: readonly Candidate[]): Candidate {
  let best = candidates[0]!;
  for (const candidate of candidates) {
    if (comparePrices(candidate.price, best.price) < 0) best = candidate;
  }
  return best;
}
