// Which pods go first when there are too many: those that are missed least.
// The order is that of Kubernetes (pkg/controller/controller_utils.go, ActivePodsWithRanks).

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import { isPodActive, isPodReady, podReadySince } from '../pod-state.ts';

type ReadPod = Immutable<Pod>;

export const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/** A phase that comes first goes first; any other counts as Pending. */
const PHASE_ORDER: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** The properties that the order depends on, read once per pod. */
interface Candidate {
  readonly pod: ReadPod;
  readonly assigned: boolean;
  readonly phase: number;
  readonly ready: boolean;
  readonly deletionCost: number;
  /** Active pods, of this controller and related ones, on the same node. */
  readonly colocated: number;
  /** Milliseconds since the epoch; undefined if not known. */
  readonly readySince: number | undefined;
  readonly restarts: readonly [regular: number, sidecar: number];
  readonly createdAt: number | undefined;
}

/**
 * The `count` pods to delete. `related`: all pods whose crowding on a node counts (those of the
 * same controller, and of ReplicaSets that share a Deployment with it). `nowMs`: since the epoch.
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
 * How many times as old as the youngest ready pod each of the chosen that are ready is. By order of
 * magnitude the younger go first, so this should stay below 2. Nothing where the youngest has no
 * age yet. `nowMs`: since the epoch.
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
    phase: PHASE_ORDER[pod.status.phase ?? ''] ?? 0,
    ready: isPodReady(pod),
    deletionCost: deletionCost(pod),
    colocated,
    readySince: podReadySince(pod),
    restarts: maxRestarts(pod),
    createdAt: parseTime(pod.metadata.creationTimestamp),
  };
}

/** Negative: `a` goes before `b`. */
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
 * The younger first, but only by order of magnitude: among pods of like age the UID decides, which
 * is as good as chance, so that a scale-down does not always hit the same (newest) failure domain.
 * 0 only if both times are the same.
 */
function compareAges(
  a: number | undefined,
  b: number | undefined,
  podA: ReadPod,
  podB: ReadPod,
  nowMs: number,
): number {
  if (a === b) return 0;
  // Unknown counts as youngest.
  if (a === undefined) return -1;
  if (b === undefined) return 1;
  const difference = magnitude(nowMs - a) - magnitude(nowMs - b);
  if (difference !== 0) return difference;
  return podA.metadata.uid < podB.metadata.uid ? -1 : 1;
}

/** The binary logarithm of the age in nanoseconds, in whole numbers. */
function magnitude(ageMs: number): number {
  return ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1;
}

/** An invalid value counts as 0. Validation rejects it. */
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
