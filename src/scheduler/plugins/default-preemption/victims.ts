// Which pods would have to go from a node so that another one fits there, and which of several such nodes is the best.

import type { CycleState } from '../../framework/cycle-state.ts';
import type { NodeInfo } from '../../framework/node-info.ts';
import type { Pod } from '../../framework/objects.ts';
import type { Trial } from '../../framework/plugin.ts';
import type { PodInfo } from '../../framework/pod-info.ts';
import { Status } from '../../framework/status.ts';

/** A node with the pods that would have to go, the most important one first. There is at least one. */
export interface Candidate {
  readonly node: string;
  readonly victims: readonly PodInfo[];
}

export const NO_VICTIMS = new Status('UnschedulableAndUnresolvable', ['No preemption victims found for incoming pod']);

/** Whether a less important pod is on the node at all; if not, there is nothing to try out. */
export function hasVictims(pod: PodInfo, { pods }: NodeInfo): boolean {
  for (const other of pods) if (other.priority < pod.priority) return true;
  return false;
}

/**
 * The fewest pods of lower priority without which the pod fits, starting with all of them and taking back the most important
 * ones that it fits beside. There are some: see hasVictims. `state` and `node` are changed. Answers a status if it would not fit even without all of them.
 */
export function selectVictims(state: CycleState, pod: PodInfo, node: NodeInfo, trial: Trial): readonly PodInfo[] | Status {
  const lower = node.pods.filter((other) => other.priority < pod.priority);
  for (const other of lower) {
    const failed = remove(state, pod, other, node, trial);
    if (failed !== undefined) return failed;
  }
  const refused = trial.filter(state, pod, node);
  if (refused !== undefined) return refused;
  const victims: PodInfo[] = [];
  for (const other of lower.sort(byImportance)) {
    node.addPod(other);
    const failed = trial.addPod(state, pod, other, node);
    if (failed !== undefined) return failed;
    if (trial.filter(state, pod, node) === undefined) continue;
    const again = remove(state, pod, other, node, trial);
    if (again !== undefined) return again;
    victims.push(other);
  }
  return victims;
}

function remove(state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, trial: Trial): Status | undefined {
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
function startOf({ status }: Pod): string {
  return status.startTime || '~';
}

/**
 * By which candidates are compared, each only among those that the one before finds equal; the smaller the better: the highest
 * priority that has to go, the sum of priorities, and their number.
 */
const CRITERIA: readonly ((candidate: Candidate) => number)[] = [
  ({ victims }) => Math.max(...victims.map(({ priority }) => priority)),
  // Shifted, so that few pods of a negative priority are not worse than many.
  ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
  ({ victims }) => victims.length,
];

/** When the first of the most important victims has started. */
function earliestStart({ victims }: Candidate): string {
  const highest = Math.max(...victims.map(({ priority }) => priority));
  return victims.reduce((least, { priority, pod }) => (priority === highest && startOf(pod) < least ? startOf(pod) : least), '~');
}

/** The first of the best. `candidates` is not empty. */
export function bestCandidate(candidates: readonly Candidate[]): Candidate {
  let left = candidates;
  for (const criterion of CRITERIA) {
    if (left.length === 1) break;
    const values = left.map(criterion);
    const least = values.reduce((a, b) => Math.min(a, b), Infinity);
    left = left.filter((_, i) => values[i] === least);
  }
  // Of the same, where the most important ones have not been running for long.
  return left.reduce((best, each) => (earliestStart(each) > earliestStart(best) ? each : best));
}
