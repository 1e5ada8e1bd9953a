// Which pods would have to go from a node so that another one fits there, and which of several such
// nodes is the best.

import type { CycleState } from '#scheduler/framework/cycle-state.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import type { Trial } from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { Status } from '#scheduler/framework/status.ts';
import type { DisruptionBudgets } from './disruption-budgets.ts';

/** The pods that would have to go from a node. */
export interface Victims {
  /** The most important one first. */
  readonly pods: readonly PodInfo[];
  /** How many of them would overdraw a disruption budget. */
  readonly violations: number;
}

/**
 * A node with who would have to go from it. Those of one node are found once, and compared for
 * every pod that comes.
 */
export interface Candidate {
  readonly node: string;
  /** At least one. */
  readonly victims: Victims;
  readonly price: Price;
}

export function candidateOf(node: string, victims: Victims): Candidate {
  return { node, victims, price: priceOf(victims) };
}

export const NO_VICTIMS = new Status('UnschedulableAndUnresolvable', [
  'No preemption victims found for incoming pod',
]);

/** Whether a less important pod is on the node at all; if not, there is nothing to try out. */
export function hasVictims(pod: PodInfo, { pods }: NodeInfo): boolean {
  for (const other of pods) if (other.priority < pod.priority) return true;
  return false;
}

/**
 * The fewest pods of lower priority without which the pod fits, starting with all of them and
 * taking back those that it fits beside: first those whose disruption budgets do not allow them to
 * go, each time the most important first. There are some: see hasVictims. `state` and `node` are
 * changed. Answers a status if it would not fit even without all of them.
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

/** Higher priority first; of the same, what has run longer. */
export function byImportance(a: PodInfo, b: PodInfo): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  const [startA, startB] = [startOf(a.pod), startOf(b.pod)];
  return startA === startB ? 0 : startA < startB ? -1 : 1;
}

/** Times of one form compare as texts; a pod that has not started yet comes after all that have. */
function startOf(pod?: Pod): string {
  return pod?.status.startTime || '~';
}

/** The properties by which candidates are compared. */
interface Price {
  readonly violations: number;
  /** The greatest priority of the victims. */
  readonly highest: number;
  readonly sum: number;
  readonly count: number;
  /** When the first of the most important victims has started. */
  readonly earliest: string;
}

function priceOf(victims: Victims): Price {
  let [highest, sum, earliest] = [-Infinity, 0, startOf()];
  for (const { priority, pod } of victims.pods) {
    const start = startOf(pod);
    if (priority > highest) [highest, earliest] = [priority, start];
    else if (priority === highest && start < earliest) earliest = start;
    // Shifted, so that few pods of a negative priority are not worse than many.
    sum += priority + 2 ** 31;
  }
  return { violations: victims.violations, highest, sum, count: victims.pods.length, earliest };
}

/**
 * Negative: `a` is better. The fewest broken budgets, the lowest of the highest priorities that
 * have to go, the smallest sum of priorities, the fewest victims, and where the most important ones
 * have not been running for long.
 */
function comparePrices(a: Price, b: Price): number {
  if (a.violations !== b.violations) return a.violations - b.violations;
  if (a.highest !== b.highest) return a.highest - b.highest;
  if (a.sum !== b.sum) return a.sum - b.sum;
  if (a.count !== b.count) return a.count - b.count;
  return a.earliest === b.earliest ? 0 : a.earliest > b.earliest ? -1 : 1;
}

/** The first of the best. `candidates` is not empty. */
export function bestCandidate(candidates: readonly Candidate[]): Candidate {
  let best = candidates[0] as Candidate;
  for (const candidate of candidates) {
    if (comparePrices(candidate.price, best.price) < 0) best = candidate;
  }
  return best;
}
