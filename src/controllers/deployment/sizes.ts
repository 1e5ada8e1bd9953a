// Computes the size of each ReplicaSet of a Deployment: the rules of the rolling update, as
// numbers. The rules are upstream's (pkg/controller/deployment): never more than replicas +
// maxSurge pods, never fewer than replicas − maxUnavailable available pods.

import type { Deployment, ReplicaSet } from '#api/groups/apps/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { getScaledValueFromIntOrPercent } from '#machinery/text/int-or-string.ts';

type ReadDeployment = Immutable<Deployment>;
type ReadReplicaSet = Immutable<ReplicaSet>;

export const replicasOf = ({ spec }: ReadDeployment | ReadReplicaSet): number => spec.replicas ?? 1;

export function isRollingUpdate({ spec }: ReadDeployment): boolean {
  return spec.strategy.type === 'RollingUpdate';
}

/**
 * Resolves maxSurge (rounded up) and maxUnavailable (rounded down). If both are zero, the rollout
 * would never progress, so one pod may be unavailable.
 */
function fenceposts(
  { spec }: ReadDeployment,
  replicas: number,
): { readonly surge: number; readonly unavailable: number } {
  const { maxSurge = 0, maxUnavailable = 0 } = spec.strategy.rollingUpdate ?? {};
  const surge = getScaledValueFromIntOrPercent(maxSurge, replicas, true);
  const unavailable = getScaledValueFromIntOrPercent(maxUnavailable, replicas, false);
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

export function maxSurge(deployment: ReadDeployment): number {
  return isRollingUpdate(deployment) ? fenceposts(deployment, replicasOf(deployment)).surge : 0;
}

export function maxUnavailable(deployment: ReadDeployment): number {
  const replicas = replicasOf(deployment);
  if (!isRollingUpdate(deployment) || replicas === 0) return 0;
  return Math.min(fenceposts(deployment, replicas).unavailable, replicas);
}

/** Returns the sum of the ReplicaSets' desired replicas. */
export function desiredPods(sets: readonly ReadReplicaSet[]): number {
  return sets.reduce((sum, set) => sum + replicasOf(set), 0);
}

export function availablePods(sets: readonly ReadReplicaSet[]): number {
  return sets.reduce((sum, { status }) => sum + (status.availableReplicas ?? 0), 0);
}

/**
 * Returns how large the new ReplicaSet may be now: as large as the old ReplicaSets leave room for.
 * `current`: its desired size so far.
 */
export function newReplicaSetSize(
  deployment: ReadDeployment,
  all: readonly ReadReplicaSet[],
  current: number,
): number {
  const replicas = replicasOf(deployment);
  if (!isRollingUpdate(deployment)) return replicas;
  const room = replicas + maxSurge(deployment) - desiredPods(all);
  return room <= 0 ? current : current + Math.min(room, replicas - current);
}

/** A ReplicaSet and its next size. */
export interface Resize {
  readonly set: ReadReplicaSet;
  readonly size: number;
}

/**
 * Returns how far the old ReplicaSets are scaled down now: first by unavailable pods, then by
 * available pods beyond the minimum. `old`: oldest first, each with pods. The sizes are those after
 * both steps.
 */
export function shrinkOld(
  deployment: ReadDeployment,
  old: readonly ReadReplicaSet[],
  fresh: ReadReplicaSet | undefined,
): readonly Resize[] {
  const all = fresh === undefined ? old : [...old, fresh];
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  const freshUnavailable =
    fresh === undefined ? 0 : replicasOf(fresh) - (fresh.status.availableReplicas ?? 0);
  const mayGo = desiredPods(all) - minAvailable - freshUnavailable;
  if (mayGo <= 0) return [];
  const sizes = new Map(old.map((set) => [set, replicasOf(set)] as const));

  let unhealthyLeft = mayGo;
  for (const [set, size] of sizes) {
    const unavailable = Math.max(0, size - (set.status.availableReplicas ?? 0));
    const count = Math.min(unhealthyLeft, unavailable);
    sizes.set(set, size - count);
    unhealthyLeft -= count;
  }
  let availableLeft = availablePods(all) - minAvailable;
  for (const [set, size] of sizes) {
    if (availableLeft <= 0) break;
    const count = Math.min(size, availableLeft);
    sizes.set(set, size - count);
    availableLeft -= count;
  }
  return Array.from(sizes, ([set, size]) => ({ set, size })).filter(
    ({ set, size }) => size !== replicasOf(set),
  );
}

/**
 * Returns the sizes of a Deployment that is scaled in the middle of a rollout: every ReplicaSet
 * grows or shrinks in proportion to its size, and the largest one gets the rounding remainder.
 * `active`: the ReplicaSets with pods. `maxBefore`: the maximum number of pods, surge included,
 * when the ReplicaSet was last sized; undefined if it is not recorded.
 */
export function scaleInProportion(
  deployment: ReadDeployment,
  active: readonly ReadReplicaSet[],
  maxBefore: (set: ReadReplicaSet) => number | undefined,
): readonly Resize[] {
  const replicas = replicasOf(deployment);
  const allowed = replicas > 0 ? replicas + maxSurge(deployment) : 0;
  const change = allowed - desiredPods(active);
  // ReplicaSets of the same size are in the order of their age: the newer one grows first, the
  // older one shrinks first.
  const sorted = active.toSorted(
    (a, b) => replicasOf(b) - replicasOf(a) || (change > 0 ? byCreation(b, a) : byCreation(a, b)),
  );
  let changed = 0;
  const resizes = sorted.map((set) => {
    const size = replicasOf(set);
    const left = change - changed;
    let share = 0;
    if (change !== 0 && size !== 0 && left !== 0) {
      const wanted = shareOf(deployment, set, maxBefore(set));
      share = change > 0 ? Math.min(wanted, left) : Math.max(wanted, left);
      changed += share;
    }
    return { set, size: size + share };
  });
  const [largest, ...others] = resizes;
  if (largest === undefined || change === 0) return resizes;
  return [{ set: largest.set, size: Math.max(0, largest.size + change - changed) }, ...others];
}

function shareOf(
  deployment: ReadDeployment,
  set: ReadReplicaSet,
  annotated: number | undefined,
): number {
  const size = replicasOf(set);
  const replicas = replicasOf(deployment);
  if (replicas === 0) return -size;
  const before = annotated || deployment.status.replicas || 0;
  if (before === 0) return 0;
  const exact = (size * (replicas + maxSurge(deployment))) / before;
  return Math.sign(exact) * Math.round(Math.abs(exact)) - size;
}

/** Orders by age, the oldest first; within the same second, by name. */
export function byCreation(a: ReadReplicaSet, b: ReadReplicaSet): number {
  const [first, second] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (first !== second) return first < second ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0;
}
