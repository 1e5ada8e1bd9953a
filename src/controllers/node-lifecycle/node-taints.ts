// The taints that a node's conditions call for.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import {
  matchesTaint,
  type ReadTaint,
  TAINT_DISK_PRESSURE,
  TAINT_MEMORY_PRESSURE,
  TAINT_NETWORK_UNAVAILABLE,
  TAINT_NOT_READY,
  TAINT_PID_PRESSURE,
  TAINT_UNREACHABLE,
  TAINT_UNSCHEDULABLE,
} from '../taints.ts';

type ReadNode = Immutable<Node>;

/** Condition → its status → the taint that keeps new pods away. */
const NO_SCHEDULE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: TAINT_NOT_READY, Unknown: TAINT_UNREACHABLE },
  MemoryPressure: { True: TAINT_MEMORY_PRESSURE },
  DiskPressure: { True: TAINT_DISK_PRESSURE },
  NetworkUnavailable: { True: TAINT_NETWORK_UNAVAILABLE },
  PIDPressure: { True: TAINT_PID_PRESSURE },
};

/**
 * Keys of the NoSchedule taints that this controller adds and removes. It leaves all other taints
 * alone.
 */
const NO_SCHEDULE_KEYS: ReadonlySet<string> = new Set([
  ...Object.values(NO_SCHEDULE).flatMap((byStatus) => Object.values(byStatus)),
  TAINT_UNSCHEDULABLE,
]);

const NO_EXECUTE_KEYS: ReadonlySet<string> = new Set([TAINT_NOT_READY, TAINT_UNREACHABLE]);

export type ReadyStatus = 'True' | 'False' | 'Unknown';

/** Returns the status of the Ready condition. A node without one has status Unknown. */
export function readyStatus(node: ReadNode): ReadyStatus {
  switch (node.status.conditions?.find(({ type }) => type === 'Ready')?.status) {
    case 'True':
      return 'True';
    case 'False':
      return 'False';
    default:
      return 'Unknown';
  }
}

/**
 * Returns the key of the NoExecute taint that the node's Ready condition calls for. Returns
 * undefined for a node that is ready, and for one without a Ready condition: the kubelet of a new
 * node has not reported yet, so nothing is wrong with it so far.
 */
export function wantedNoExecute(node: ReadNode): string | undefined {
  if (!node.status.conditions?.some(({ type }) => type === 'Ready')) return undefined;
  switch (readyStatus(node)) {
    case 'True':
      return undefined;
    case 'False':
      return TAINT_NOT_READY;
    case 'Unknown':
      return TAINT_UNREACHABLE;
  }
}

/**
 * Reports whether the pods of the node are being evicted: it has one of the NoExecute taints of
 * this controller.
 */
export function isEvicting(node: ReadNode): boolean {
  return (
    node.spec.taints?.some(
      ({ key, effect }) => effect === 'NoExecute' && NO_EXECUTE_KEYS.has(key),
    ) ?? false
  );
}

/** The decision about the NoExecute taint of a node that is not ready. */
export type Eviction =
  /** Add the taint. */
  | 'start'
  /** Keep an existing taint, add none. */
  | 'hold'
  /**
   * Remove the taint: all nodes of the cluster are not ready, and the fault is then more likely in
   * the control plane.
   */
  | 'cancel';

/**
 * Returns the taints that the node should have, or undefined if it has them already. `now`: a
 * metav1.Time.
 */
export function wantedTaints(
  node: ReadNode,
  eviction: Eviction,
  now: string,
): readonly ReadTaint[] | undefined {
  const present = node.spec.taints ?? [];
  const wanted: ReadTaint[] = [];
  for (const { type, status } of node.status.conditions ?? []) {
    const key = ownValue(ownValue(NO_SCHEDULE, type), status);
    if (key !== undefined) wanted.push({ key, effect: 'NoSchedule' });
  }
  if (node.spec.unschedulable) wanted.push({ key: TAINT_UNSCHEDULABLE, effect: 'NoSchedule' });
  const noExecute = wantedNoExecute(node);
  // The change from unreachable to not ready replaces the taint at any eviction rate.
  if (
    noExecute !== undefined &&
    (eviction === 'start' || (eviction === 'hold' && isEvicting(node)))
  ) {
    wanted.push({ key: noExecute, effect: 'NoExecute', timeAdded: now });
  }
  const kept = present.filter(
    (taint) => !isOurs(taint) || wanted.some((other) => matchesTaint(other, taint)),
  );
  const added = wanted.filter((taint) => !present.some((other) => matchesTaint(other, taint)));
  return added.length === 0 && kept.length === present.length ? undefined : [...kept, ...added];
}

function isOurs({ key, effect }: ReadTaint): boolean {
  return (
    (effect === 'NoSchedule' && NO_SCHEDULE_KEYS.has(key)) ||
    (effect === 'NoExecute' && NO_EXECUTE_KEYS.has(key))
  );
}
