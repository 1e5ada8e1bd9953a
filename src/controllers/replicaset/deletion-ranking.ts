// Ranks the pods of a ReplicaSet for deletion: the pod whose loss costs least comes first. The
// order is upstream's (pkg/controller/controller_utils.go, ActivePodsWithRanks).

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { parseTime } from '#machinery/text/time.ts';
import { isPodActive, isPodReady, podReadySince } from '../pod-state.ts';

type ReadPod = Immutable<Pod>;

export const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/** Pods with a lower value are deleted first; other phases count as Pending. */
const PHASE_ORDER: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** The properties that the order depends on, read once per pod. */
interface Candidate {
  readonly pod: ReadPod;
  readonly assigned: boolean;
  readonly phase: number;
  readonly ready: boolean;
  readonly deletionCost: number;
  /** The number of active pods on the same node, of this controller and related ones. */
  readonly colocated: number;
  /** Milliseconds since the epoch; undefined if unknown. */
  readonly readySince: number | undefined;
  readonly restarts: readonly [regular: number, sidecar: number];
  readonly createdAt: number | undefined;
}

/**
 * Returns the `count` pods to delete. `related`: all pods that count for the ranking by node (pods
 * of this controller, and of ReplicaSets with the same Deployment). `nowMs`: since the epoch.
 */
export function choosePodsToDelete(
  pods: readonly ReadPod[],
  related: readonly ReadPod[],
  count: number,
  nowMs: number,
): readonly ReadPod[] {
  if (count >= pods.length) return pods;
  const onNode = new Map<string, number>();
  for (const pod of related) {
    if (!isPodActive(pod)) continue;
    const node = pod.spec.nodeName ?? '';
    onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  return pods
    .map((pod) => candidate(pod, onNode.get(pod.spec.nodeName ?? '') ?? 0))
    .sort((a, b) => compare(a, b, nowMs))
    .slice(0, count)
    .map(({ pod }) => pod);
}

/**
 * Returns the age of each chosen ready pod, divided by the age of the youngest ready pod. Younger
 * pods are deleted first by order of magnitude, so the ratio should stay below 2. Empty if the
 * youngest pod has no age yet. `nowMs`: since the epoch.
 */
export function ageRatios(
  pods: readonly ReadPod[],
  chosen: readonly ReadPod[],
  nowMs: number,
): readonly number[] {
  const ageOf = ({ metadata }: ReadPod): number =>
    nowMs - (parseTime(metadata.creationTimestamp) ?? nowMs);
  const youngest = pods
    .filter(isPodReady)
    .reduce((least, pod) => Math.min(least, ageOf(pod)), Infinity);
  return youngest > 0 ? chosen.filter(isPodReady).map((pod) => ageOf(pod) / youngest) : [];
}

function candidate(pod: ReadPod, colocated: number): Candidate {
  return {
    pod,
    assigned: (pod.spec.nodeName ?? '') !== '',
    phase: ownValue(PHASE_ORDER, pod.status.phase ?? '') ?? 0,
    ready: isPodReady(pod),
    deletionCost: deletionCost(pod),
    colocated,
    readySince: podReadySince(pod),
    restarts: maxRestarts(pod),
    createdAt: parseTime(pod.metadata.creationTimestamp),
  };
}

/** Orders pods. Negative: `a` is deleted before `b`. */
function compare(a: Candidate, b: Candidate, nowMs: number): number {
  return (
    Number(a.assigned) - Number(b.assigned) ||
    a.phase - b.phase ||
    Number(a.ready) - Number(b.ready) ||
    a.deletionCost - b.deletionCost ||
    b.colocated - a.colocated ||
    (a.ready && b.ready ? compareAges(a.readySince, b.readySince, a.pod, b.pod, nowMs) : 0) ||
    b.restarts[0] - a.restarts[0] ||
    b.restarts[1] - a.restarts[1] ||
    compareAges(a.createdAt, b.createdAt, a.pod, b.pod, nowMs)
  );
}

/**
 * Orders by age, the younger first, but only by order of magnitude. Among pods of similar age the
 * UID decides at random, so that a scale-down does not always hit the same (newest) failure domain.
 * Returns 0 only if both times are equal.
 */
function compareAges(
  a: number | undefined,
  b: number | undefined,
  podA: ReadPod,
  podB: ReadPod,
  nowMs: number,
): number {
  if (a === b) return 0;
  // A pod without a time counts as the youngest.
  if (a === undefined) return -1;
  if (b === undefined) return 1;
  const difference = magnitude(nowMs - a) - magnitude(nowMs - b);
  if (difference !== 0) return difference;
  return podA.metadata.uid < podB.metadata.uid ? -1 : 1;
}

/** Returns the rounded binary logarithm of the age in nanoseconds. */
function magnitude(ageMs: number): number {
  return ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1;
}

/** Returns the pod's deletion cost. An invalid value counts as 0; validation rejects it. */
function deletionCost(pod: ReadPod): number {
  const text = pod.metadata.annotations?.[DELETION_COST];
  return text !== undefined && /^(0|-?[1-9][0-9]*)$/.test(text) ? Number(text) : 0;
}

function maxRestarts(pod: ReadPod): readonly [regular: number, sidecar: number] {
  const sidecars = new Set(
    (pod.spec.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === 'Always')
      .map(({ name }) => name),
  );
  const counts = (
    statuses: ReadPod['status']['containerStatuses'],
    counted: (name: string) => boolean,
  ): number =>
    (statuses ?? []).reduce(
      (most, { name, restartCount }) => (counted(name) ? Math.max(most, restartCount) : most),
      0,
    );
  return [
    counts(pod.status.containerStatuses, () => true),
    counts(pod.status.initContainerStatuses, (name) => sidecars.has(name)),
  ];
}
